package e2e_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// Whatever becomes of Redis, a sender hears the same, soon; and with the ledger away what is remembered is answered.
func TestRedisGoesAndComes(t *testing.T) {
	app := newApplication(t)
	cluster, server := testenv.NewCluster(t, testenv.ClusterConfig{}), testenv.NewRedis(t)
	server.Stop() // absent at the start
	env := map[string]string{"DATABASE_URL": cluster.Database(t), "REDIS_URL": server.URL(), "SIDECAR_UPSTREAM": "http://" + app.address}
	yaml := integration(t)
	first, second := newSidecar(t, yaml, env).start(t), newSidecar(t, yaml, env).start(t)
	deliver := func(when string) {
		t.Helper()
		var took []time.Duration
		for i := range 20 {
			event := fmt.Sprintf("evt-%s-%d", when, i)
			for at, want := range []string{"200 applied ", "200 replayed ", "200 replayed "} {
				began := time.Now()
				expect(t, []*sidecar{first, second, first}[at], event, want+event+" run 1")
				took = append(took, time.Since(began))
			}
		}
		if slices.Sort(took); took[len(took)/2] > 200*time.Millisecond ||
			took[len(took)-3] > 2*time.Second || took[len(took)-1] > 10*time.Second { // two may meet a busy machine
			t.Errorf("%s: half of the answers took %s and more, three %s and more, one %s", when, took[len(took)/2], took[len(took)-3], took[len(took)-1])
		}
	}
	do := func(words ...any) {
		t.Helper()
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer client.Close()
		if err := client.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	deliver("absent")
	server.Start(t)
	await(t, "Redis in use", func() error { return redisOpen(second, "0") })
	deliver("there")
	for name, change := range map[string][2][]any{
		"full":      {{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}},
		"read-only": {{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}},
	} {
		do(change[0]...)
		deliver(name)
		do(change[1]...)
	}
	server.Freeze()
	deliver("silent")
	server.Thaw()
	server.Stop()
	deliver("killed")
	server.Start(t)
	await(t, "Redis in use", func() error { return redisOpen(first, "0") })
	await(t, "Redis in use", func() error { return redisOpen(second, "0") })
	last, tries := "", 0
	await(t, "a result in Redis", func() error { // what is on its way when a connection breaks is lost, and may be
		if last != "" && stored(server, last) == nil {
			return nil
		}
		tries++
		last = fmt.Sprintf("evt-last-%d", tries)
		expect(t, first, last, "200 applied "+last+" run 1")
		return stored(server, last)
	})
	cluster.Stop()
	settles(t, second, last, "200 replayed "+last+" run 1") // known to Redis alone, which has 40 ms to say so
	expect(t, second, "evt-new", "503 ledger_unavailable")
	wantAttempts(t, app, last, "1")
}

// redisOpen has no complaint once a sidecar says that its breaker is (not) open.
func redisOpen(s *sidecar, want string) error {
	page, err := fetch("http://" + s.admin + "/metrics")
	if err == nil && !contains(page, "\nwebhook_cache_redis_open "+want+"\n") {
		err = fmt.Errorf("the breaker is not %s", want)
	}
	return err
}

// stored has no complaint once Redis knows an event, by the hash of its scope and ID.
func stored(server *testenv.RedisServer, event string) error {
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	sum := delivery.HashParts([]byte("acme/orders"), []byte(event))
	count, err := client.Exists(context.Background(), "sidecar_default:v1:"+hex.EncodeToString(sum[:16])).Result()
	if err == nil && count == 0 {
		err = fmt.Errorf("%s is not stored", event)
	}
	return err
}
