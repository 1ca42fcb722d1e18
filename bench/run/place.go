package main

import (
	"fmt"
	"strconv"
	"strings"
)

// place is a part of the program whose share of the CPU time is told.
type place struct {
	title    string
	function string // as the profiler names it, from its end; of generic ones up to the bracket
	share    float64
}

// known are the places in the order of a delivery.
func known() placeList {
	return placeList{
		{title: "connections of senders, all of net/http", function: "net/http.(*conn).serve"},
		{title: "– of it: the proxy", function: "/proxy.(*Proxy).ServeHTTP"},
		{title: "– – read the body", function: "/proxy.(*exchange).read"},
		{title: "– – verify", function: "/proxy.(*exchange).authenticate"},
		{title: "– – claim", function: "/proxy.(*exchange).claim"},
		{title: "– – – local memory and Redis", function: "/dedupe/rediscache.(*Cache).recall"},
		{title: "– – forward", function: "/proxy.(*exchange).forward"},
		{title: "– – settle", function: "/proxy.(*exchange).settle"},
		{title: "– – answer", function: "/proxy.(*exchange).write"},
		{title: "– – log, metrics, trace", function: "/proxy.(*exchange).record"},
		{title: "– – – log", function: "log/slog.(*Logger).logAttrs"},
		{title: "– – pass on", function: "/upstream.(*Passthrough).ServeHTTP"},
		{title: "– of it: read the request", function: "net/http.(*conn).readRequest"},
		{title: "– of it: send the answer", function: "net/http.(*response).finishRequest"},
		{title: "batches of claims to PostgreSQL", function: "/dedupe/postgres.(*Store).Insert"},
		{title: "batches of results to PostgreSQL", function: "/dedupe/postgres.(*Store).Move"},
		{title: "wait for a sender to hang up (net/http)", function: "net/http.(*connReader).backgroundRead"},
		{title: "memory: allocate", function: "runtime.mallocgc"},
		{title: "memory: collect, aside", function: "runtime.gcBgMarkWorker"},
		{title: "scheduling", function: "runtime.schedule"},
		{title: "system calls", function: "linux.Syscall6"},
	}
}

type placeList []place

// places reads what pprof -top -cum prints. Shares are µs of an answer that took so many in all.
func places(top string, micros float64) placeList {
	list := known()
	for line := range strings.Lines(top) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasSuffix(fields[4], "%") {
			continue
		}
		percent, err := strconv.ParseFloat(strings.TrimSuffix(fields[4], "%"), 64)
		if err != nil {
			continue
		}
		for i := range list {
			if strings.HasSuffix(fields[5], list[i].function) {
				list[i].share = max(list[i].share, percent/100*micros)
			}
		}
	}
	return list
}

func (l placeList) text(title string, connections int, m sample) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n## %s, %d connections\n\n%.0f a second; sidecar %.1f µs, PostgreSQL %.1f µs, Redis %.1f µs of CPU each. Others used %.0f %% of the machine.\n\n",
		title, connections, m.PerSecond, m.proxy, m.ledger, m.redis, 100*m.others)
	rows := [][]string{{"where", "µs", "%"}}
	for _, p := range l {
		if p.share > 0 {
			rows = append(rows, []string{p.title, fmt.Sprintf("%.1f", p.share), fmt.Sprintf("%.0f", 100*p.share/m.proxy)})
		}
	}
	table(&text, rows)
	return text.String()
}
