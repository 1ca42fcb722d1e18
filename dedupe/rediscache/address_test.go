package rediscache

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestURLs(t *testing.T) {
	for text, want := range map[string]address{
		"redis://cache":                   {hosts: []string{"cache:6379"}},
		" redis://cache/ \n":              {hosts: []string{"cache:6379"}},
		"redis://:pw@cache:7000/3":        {hosts: []string{"cache:7000"}, password: "pw", db: 3},
		"rediss://me:p%40%2F%2Cw@1.2.3.4": {hosts: []string{"1.2.3.4:6379"}, tls: true, user: "me", password: "p@/,w"},
		"redis://me:p@w@[::1]:7000":       {hosts: []string{"[::1]:7000"}, user: "me", password: "p@w"},
		"redis://a:1,b,[::1]":             {topology: cluster, hosts: []string{"a:1", "b:6379", "[::1]:6379"}},
		"rediss://:pw@a, rediss://b:2/0":  {topology: cluster, tls: true, hosts: []string{"a:6379", "b:2"}, password: "pw"},
		"redis://me:pw@a,redis://me:pw@b/": {
			topology: cluster, hosts: []string{"a:6379", "b:6379"}, user: "me", password: "pw",
		},
		"redis+sentinel://s1,s2:7/mymaster": {
			topology: sentinel, hosts: []string{"s1:26379", "s2:7"}, master: "mymaster",
		},
		"rediss+sentinel://me:pw@s1/my%2Fmaster/4?sentinel_username=su&sentinel_password=s%26p": {
			topology: sentinel, tls: true, hosts: []string{"s1:26379"}, master: "my/master", db: 4, user: "me", password: "pw",
			sentinelUser: "su", sentinelPassword: "s&p",
		},
	} {
		got, err := parseAddress(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestBadURLsAreRefusedWithoutTellingThem(t *testing.T) {
	for _, text := range []string{
		"canary", "http://canary", "://canary", "redis://", "redis://canary@", "redis://canary@host", "redis://canary:@host",
		"redis://:canary@", "redis://:can/ary@host:6379", "redis://:can%zzary@host", "redis://:can?ary@host",
		"redis://:canary@host:0", "redis://:canary@host:65536", "redis://:canary@host:canary", "redis://:canary@ho st",
		"redis://:canary@host/canary", "redis://:canary@host/-1", "redis://:canary@host/70000", "redis://:canary@host/1/2",
		"redis://:canary@host?canary=1", "redis://:canary@host#canary", "redis://:canary@host?sentinel_password=canary",
		"redis://:canary@a,,b", "redis://:canary@a,:other@b", "redis://:canary@a,b/1", "redis://:canary@a/0,b",
		"redis://:canary@a,rediss://b", "redis://:can,ary@host", "redis://:canary@[::1", "redis://:canary@[canary]",
		"redis://:canary@::1", "redis://[]", "redis+sentinel://:canary@host", "redis+sentinel://:canary@host/",
		"redis+sentinel://:canary@host/%zz", "redis+sentinel://host/canary/canary", "redis+sentinel://host/m?canary",
		"redis+sentinel://host/m?sentinel_password=canary&sentinel_password=canary",
		"redis+sentinel://host/m?sentinel_username=canary", "redis+sentinel://host/m?%zz=canary", "redis+sentinel:///canary",
	} {
		err := CheckURL(text)
		if err == nil {
			t.Errorf("%s: accepted", text)
		} else if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "ary") {
			t.Errorf("%s: %v tells it", text, err)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"redis://:pw@h:1/2", "rediss://u:p@a,b", "redis+sentinel://a,b/m/1?sentinel_password=x", "redis://[::1]:1,redis://h",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAddress(text)
		if err != nil {
			return
		}
		empty := slices.ContainsFunc(a.hosts, func(host string) bool { return host == "" || host[0] == ':' })
		if len(a.hosts) == 0 || empty || a.topology == sentinel && a.master == "" {
			t.Errorf("%q: accepted as %+v", text, a)
		}
		newClient(a, nil, usualLimits()).Close()
	})
}
