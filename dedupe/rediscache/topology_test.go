package rediscache

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// Two nodes of a cluster, and a user who may do the four commands and ask for the slots.
func TestCluster(t *testing.T) {
	first := testenv.NewRedis(t, "--cluster-enabled", "yes", "--cluster-config-file", "first.conf")
	second := testenv.NewRedis(t, "--cluster-enabled", "yes", "--cluster-config-file", "second.conf")
	for server, slots := range map[*testenv.RedisServer][2]int{first: {0, 8191}, second: {8192, 16383}} {
		send("CLUSTER", "ADDSLOTSRANGE", slots[0], slots[1])(t, server)
		send("ACL", "SETUSER", "cache", "on", ">secret", "~sidecar_shop:*", "+get", "+set", "+del", "+ping", "+cluster|slots")(t, server)
	}
	send("CLUSTER", "MEET", "127.0.0.1", first.Port)(t, second)
	for _, server := range []*testenv.RedisServer{first, second} {
		client := person(t, server.URL())
		eventually(t, "the cluster is complete", func() bool {
			info := client.ClusterInfo(context.Background()).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:2")
		})
	}
	ledger := newLedger(t)
	noLeaks(t)
	address := fmt.Sprintf("redis://cache:secret@%s,%s", first.Addr(), second.Addr())
	writer, reader := connected(t, ledger, address), connected(t, ledger, address)
	for i := range 20 {
		apply(t, writer, request(fmt.Sprint("evt_", i), "a"), answer(200, "done"))
	}
	eventually(t, "the results reach Redis", func() bool { return writer.Stats().Stored == 20 })
	for i := range 20 {
		replays(t, reader, request(fmt.Sprint("evt_", i), "a"), Shared, answer(200, "done"))
	}
	for _, server := range []*testenv.RedisServer{first, second} {
		if keys := person(t, server.URL()).DBSize(context.Background()).Val(); keys == 0 {
			t.Error("a node has no key")
		}
	}
	reopen(t, reader.Cache, ledger, "evt_1")
	third := connected(t, ledger, address, hurried)
	second.Freeze()
	works(t, ledger, third, "half_silent_")
	second.Thaw()
}

// A node of a cluster dies and its replica takes over: same answers meanwhile, and the successor is used.
func TestClusterFailsOver(t *testing.T) {
	node := func(name string) *testenv.RedisServer {
		return testenv.NewRedis(t, "--cluster-enabled", "yes", "--cluster-config-file", name+".conf", "--cluster-node-timeout", "1000",
			"--cluster-require-full-coverage", "no")
	}
	first, second, spare := node("first"), node("second"), node("spare")
	send("CLUSTER", "ADDSLOTSRANGE", 0, 8191)(t, first)
	send("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)(t, second)
	send("CLUSTER", "MEET", "127.0.0.1", first.Port)(t, second)
	send("CLUSTER", "MEET", "127.0.0.1", first.Port)(t, spare)
	for _, server := range []*testenv.RedisServer{first, second, spare} {
		client := person(t, server.URL())
		eventually(t, "the cluster is complete", func() bool {
			info := client.ClusterInfo(context.Background()).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	id := person(t, first.URL()).ClusterMyID(context.Background()).Val()
	heir := person(t, spare.URL())
	eventually(t, "the spare node follows the first", func() bool {
		return heir.ClusterReplicate(context.Background(), id).Err() == nil
	})
	eventually(t, "it is in step", func() bool {
		return strings.Contains(heir.Info(context.Background(), "replication").Val(), "master_link_status:up")
	})
	ledger := newLedger(t)
	noLeaks(t)
	c := connected(t, ledger, fmt.Sprintf("redis://%s,%s,%s", first.Addr(), second.Addr(), spare.Addr()), hurried)
	works(t, ledger, c, "before_")
	first.Stop()
	works(t, ledger, c, "failing_over_")
	eventually(t, "the replica takes over", func() bool {
		return heir.Do(context.Background(), "CLUSTER", "FAILOVER", "TAKEOVER").Err() == nil
	})
	round := 0
	eventually(t, "the successor is used", func() bool {
		round++
		works(t, ledger, c, fmt.Sprint("round_", round, "_"))
		keys := heir.DBSize(context.Background()).Val()
		works(t, ledger, c, fmt.Sprint("more_", round, "_"))
		return heir.DBSize(context.Background()).Val() > keys
	})
}

// A master that dies under its Sentinel is followed to its successor, by a user who may do the four commands.
func TestSentinelFailsOver(t *testing.T) {
	master := testenv.NewRedis(t)
	replica := testenv.NewRedis(t, "--replicaof", "127.0.0.1", fmt.Sprint(master.Port))
	watch := startSentinel(t, master.Port)
	observer := redis.NewSentinelClient(&redis.Options{Addr: watch})
	t.Cleanup(func() { observer.Close() })
	eventually(t, "the Sentinel knows the replica", func() bool {
		return len(observer.Replicas(context.Background(), "shop").Val()) == 1
	})
	ledger := newLedger(t)
	noLeaks(t)
	for _, server := range []*testenv.RedisServer{master, replica} {
		send("ACL", "SETUSER", "cache", "on", ">secret", "~sidecar_shop:*", "+get", "+set", "+del", "+ping")(t, server)
	}
	address := "redis+sentinel://cache:secret@" + watch + "/shop"
	inRedis(t, ledger, address, request("evt_1", "a"), answer(200, "done"))
	db := person(t, replica.URL())
	eventually(t, "the result reaches the replica", func() bool { return db.DBSize(context.Background()).Val() == 1 })
	replays(t, connected(t, ledger, address), request("evt_1", "a"), Shared, answer(200, "done"))

	c := connected(t, ledger, address, hurried)
	master.Stop()
	works(t, ledger, c, "failing_over_")
	stored := c.Stats().Stored
	round := 0
	within(t, 90*time.Second, "the successor is used", func() bool { // a Sentinel that was held up decides nothing for half a minute
		round++
		works(t, ledger, c, fmt.Sprint("round_", round, "_"))
		return c.Stats().Stored > stored
	})
	replays(t, connected(t, ledger, address), request("evt_1", "a"), Shared, answer(200, "done"))
}

// startSentinel watches a master under the name shop, and returns its address.
func startSentinel(t testing.TB, port int) string {
	t.Helper()
	address := testenv.Address(t)
	_, own, _ := strings.Cut(address, ":")
	path := filepath.Join(t.TempDir(), "sentinel.conf")
	config := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor shop 127.0.0.1 %d 1\n"+
		"sentinel down-after-milliseconds shop 5000\nsentinel failover-timeout shop 3000\n", own, t.TempDir(), port)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	sentinel := exec.CommandContext(ctx, "redis-server", path, "--sentinel")
	if err := sentinel.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = sentinel.Wait() // it was killed
	})
	client := redis.NewSentinelClient(&redis.Options{Addr: address})
	t.Cleanup(func() { client.Close() })
	eventually(t, "the Sentinel answers", func() bool { return client.Ping(ctx).Err() == nil })
	return address
}
