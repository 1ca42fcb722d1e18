package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

const nginxConfig = `daemon off;
worker_processes auto;
pid %[1]s/nginx.pid;
error_log stderr error;
%[4]s
events { worker_connections 2048; }
http {
	access_log off;
	client_body_temp_path %[1]s/nginx-body;
	proxy_temp_path %[1]s/nginx-proxy;
	fastcgi_temp_path %[1]s/nginx-fastcgi;
	uwsgi_temp_path %[1]s/nginx-uwsgi;
	scgi_temp_path %[1]s/nginx-scgi;
	keepalive_requests 100000000;
	client_body_buffer_size 16k;
	upstream app { server %[3]s; keepalive 256; keepalive_requests 100000000; }
	server {
		listen %[2]s backlog=1024;
		location / {
			proxy_pass http://app;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
		}
	}
}
`

// nginx starts a plain proxy_pass with keepalive. False where it is not installed.
func (s *stage) nginx(app string) (*process, bool) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx"
	}
	if _, err := os.Stat(program); err != nil {
		s.say("nginx is not installed: it is left out\n")
		return nil, false
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // its files are in this run's directory
	}
	address := testenv.Address(s)
	config := s.dir() + "/nginx.conf"
	s.must("nginx' configuration", os.WriteFile(config, fmt.Appendf(nil, nginxConfig, s.dir(), address, app, user), 0o600))
	return s.launch("nginx", address, exec.Command(program, "-p", s.dir(), "-e", "stderr", "-c", config)), true
}

func nginxVersion(s *stage) string {
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx"
	}
	return strings.TrimPrefix(said(s.ctx, program, "-v"), "nginx version: ")
}
