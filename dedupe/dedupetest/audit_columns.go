package dedupetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const columnsScope = delivery.Scope("acme/columns")

// auditColumns puts every value that an intruder has into every column of every row, one at a time. Its events are in every
// state, sealed and not, with rows whose time is over and rows whose time is not.
func auditColumns(b *bench) {
	in := b.h.Intruder
	if in == nil {
		b.Skip("nobody changes anything")
	}
	b.columnsPast()
	if finding, err := b.wholeAudit(); err != nil || finding != nil {
		b.Fatalf("an audit finds %+v, %v", finding, err)
	}
	in.save(b)
	scope := string(columnsScope)
	page, err := b.h.Audit.History(b.ctx, columnsScope, "", 100)
	if err != nil || len(page) != 11 {
		b.Fatalf("%d receipts, %v", len(page), err)
	}
	for i := range page {
		if len(page[i].Evidence) > 0 {
			b.alterEach(in.Receipts, in.OfEvent, in.ColumnsOfReceipts, every, scope, string(page[i].EventID))
		}
	}
	const checkpoints = 4
	for number := range int64(checkpoints + 1) {
		if number > 0 {
			b.alterEach(in.Checkpoints, in.OfScope+" AND number = ?", in.ColumnsOfCheckpoints, every, scope, number)
		}
		marked, err := b.h.Audit.Marked(b.ctx, columnsScope, number, 0, 100)
		if err != nil || len(marked.Rows) == 0 && number != 1 { // the first one's rows are forgotten
			b.Fatalf("checkpoint %d has %+v, %v", number, marked.Rows, err)
		}
		for _, row := range marked.Rows {
			some := func(value int) bool { return (int(row.ID)+value)%3 == 0 } // each one in some rows of each kind
			b.alterEach(in.Evidence, "id = ?", in.ColumnsOfEvidence, some, row.ID)
		}
	}
}

// columnsPast are events in every state: some rows are sealed, the last ones not yet.
func (b *bench) columnsPast() {
	b.Helper()
	request := func(id string) dedupe.Request {
		r := event(id)
		r.Scope = columnsScope
		return r
	}
	run := func(id string, settlements ...dedupe.Settlement) {
		b.Helper()
		for _, s := range settlements {
			b.settle(b.a, b.expect(b.a, request(id), dedupe.Fresh).Claim, s)
		}
	}
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	soon := notFinal()
	soon.Expires = time.Microsecond
	over := applied("one")
	over.Expires = time.Microsecond
	run("gone", notFinal(), over)
	b.seal(10)
	b.sweep()
	run("happy", applied("one"))
	run("retryable", notFinal())
	run("applied", notFinal(), applied("two"))
	run("over", soon)
	b.fresh(b.a, request("over"), 2) // a receipt whose evidence is over, and that is in use
	run("unsent", notSent(), applied("one"))
	b.seal(4)
	for _, id := range []string{"dead", "closed", "replayed"} {
		run(id, dead(nil))
	}
	by := dedupe.Act{Actor: "ada", Reason: "because"}
	must(b.a.Close(b.ctx, columnsScope, "closed", 410, by))
	_, err := b.a.Replay(b.ctx, columnsScope, "replayed", by)
	must(err)
	run("reopened", applied("one"))
	must(b.a.Reopen(b.ctx, columnsScope, "reopened", by))
	queue := request("queued")
	accepts(&queue, "kept")
	b.claim(b.a, queue)
	taken, err := b.a.worker.Take(b.ctx, []dedupe.Quota{{Scope: columnsScope, Most: 1, Policy: policy()}}, 1)
	if err != nil || len(taken.Works) != 1 {
		b.Fatalf("taken %+v, %v", taken, err)
	}
	b.settle(b.a, taken.Works[0].Claim, queued(job("kept")))
	b.seal(100)
	run("unsealed", notFinal(), notFinal())
}

func every(int) bool { return true }

// alterEach alters a row in every way that is wanted, one at a time.
func (b *bench) alterEach(table, where string, columns map[string][]string, wanted func(value int) bool, args ...any) {
	b.Helper()
	in := b.h.Intruder
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		for i, value := range columns[column] {
			if !wanted(i) {
				continue
			}
			sql := fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s AND %[2]s IS DISTINCT FROM (%[3]s)", table, column, value, where)
			changed, err := in.Exec(sql, args...)
			if err != nil || changed == 0 {
				continue // the database refuses it, or it is so already
			}
			if finding, err := b.wholeAudit(); err != nil || finding == nil {
				b.Errorf("%s of %v: nothing is found: %v", sql, args, err)
			}
			in.restore(b, table)
		}
	}
}

// wholeAudit is of the whole ledger: what is altered may be somewhere else afterwards. It ends with the first finding.
func (b *bench) wholeAudit() (first *audit.Finding, err error) {
	b.Helper()
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	auditor, err := audit.NewAuditor(audit.AuditorConfig{Source: b.h.Audit, Found: func(f audit.Finding) {
		first = &f
		stop()
	}})
	if err != nil {
		b.Fatal(err)
	}
	if _, err = auditor.Verify(ctx); first != nil {
		err = nil
	}
	return first, err
}

// tables are what save keeps.
func (in *Intruder) tables() map[string]string {
	return map[string]string{"receipts": in.Receipts, "evidence": in.Evidence, "checkpoints": in.Checkpoints}
}

// save keeps what is there, and restore brings a table back.
func (in *Intruder) save(b *bench) {
	b.Helper()
	for name, table := range in.tables() {
		in.must(b, "CREATE TEMPORARY TABLE saved_"+name+" AS SELECT * FROM "+table)
	}
}

func (in *Intruder) restore(b *bench, table string) {
	b.Helper()
	for _, name := range []string{"receipts", "evidence", "checkpoints"} { // evidence may go with its receipts
		if each := in.tables()[name]; each == table || table == in.Receipts && each == in.Evidence {
			in.must(b, "DELETE FROM "+each)
			in.must(b, "INSERT INTO "+each+" SELECT * FROM saved_"+name)
		}
	}
}
