package k8s

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cache is where `make k8s` has put the programs.
const cache = "../../.cache/k8s/"

// plane is a running control plane on loopback.
type plane struct {
	*client
	dir        string
	kubeconfig string
	processes  []*exec.Cmd
}

var cluster *plane //nolint:gochecknoglobals // one control plane serves all tests of this package

func TestMain(m *testing.M) {
	code := 1
	defer func() { os.Exit(code) }()
	dir, err := os.MkdirTemp("", "k8s")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cluster = &plane{dir: dir}
	defer cluster.stop()
	if err := cluster.start(); err != nil {
		fmt.Println("no control plane:", err)
		cluster.logs()
		return
	}
	code = m.Run()
}

func (p *plane) start() error {
	ports, err := freePorts(4)
	if err != nil {
		return err
	}
	if err := p.files(ports[2]); err != nil {
		return err
	}
	etcd := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	if err := p.run("etcd-3.7.3", "--data-dir", p.path("etcd"), "--unsafe-no-fsync", "--listen-client-urls", etcd,
		"--advertise-client-urls", etcd, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--initial-cluster", "default="+peer); err != nil {
		return err
	}
	if err := p.run("kube-apiserver-1.37.2", "--etcd-servers="+etcd, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", ports[2]), "--cert-dir="+p.path("certs"), "--token-auth-file="+p.path("tokens.csv"),
		"--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+p.path("sa.key"),
		"--service-account-signing-key-file="+p.path("sa.key"), "--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount"); err != nil {
		return err
	}
	p.client = newClient(fmt.Sprintf("https://127.0.0.1:%d", ports[2]), token)
	if err := p.await(2*time.Minute, func() error { return p.get("/readyz", nil) }); err != nil {
		return err
	}
	return p.run("kube-controller-manager-1.37.2", "--kubeconfig="+p.kubeconfig, "--authentication-kubeconfig="+p.kubeconfig,
		"--authorization-kubeconfig="+p.kubeconfig, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[3]),
		"--cert-dir="+p.path("kcm"), "--leader-elect=false", "--service-account-private-key-file="+p.path("sa.key"),
		"--controllers=deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,job-controller,"+
			"cronjob-controller,endpointslice-controller,serviceaccount-controller,namespace-controller,garbage-collector-controller")
}

const token = "test-token"

func (p *plane) path(name string) string { return filepath.Join(p.dir, name) }

// files writes the credentials of this one test run.
func (p *plane) files(port int) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	pemKey := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	p.kubeconfig = p.path("kubeconfig")
	kubeconfig := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}]
users: [{name: test, user: {token: %s}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`, port, token)
	return errors.Join(os.WriteFile(p.path("sa.key"), pemKey, 0o600),
		os.WriteFile(p.path("tokens.csv"), []byte(token+",admin,admin,system:masters\n"), 0o600),
		os.WriteFile(p.kubeconfig, []byte(kubeconfig), 0o600))
}

// run starts a program that dies with the tests.
func (p *plane) run(name string, args ...string) error {
	log, err := os.Create(p.path(strings.SplitN(name, "-", 2)[0] + "-" + fmt.Sprint(len(p.processes)) + ".log"))
	if err != nil {
		return err
	}
	program, err := filepath.Abs(cache + name)
	if err != nil {
		return err
	}
	command := exec.CommandContext(context.Background(), program, args...)
	command.Stdout, command.Stderr, command.Dir = log, log, p.dir
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return fmt.Errorf("%w (make k8s builds it)", err)
	}
	p.processes = append(p.processes, command)
	return nil
}

func (p *plane) stop() {
	for i := len(p.processes) - 1; i >= 0; i-- {
		_ = p.processes[i].Process.Kill()
		_ = p.processes[i].Wait()
	}
}

// logs shows the end of what the programs wrote.
func (p *plane) logs() {
	files, _ := filepath.Glob(p.path("*.log"))
	for _, file := range files {
		content, _ := os.ReadFile(file)
		fmt.Printf("== %s\n%s\n", filepath.Base(file), content[max(0, len(content)-2000):])
	}
}

// await polls a condition of programs that tell nobody when they are done.
func (p *plane) await(limit time.Duration, condition func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := condition()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-time.After(100 * time.Millisecond)
	}
}

func freePorts(count int) ([]int, error) {
	var ports []int
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
