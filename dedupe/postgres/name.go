package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// The kinds of names. Stored; they never change.
const (
	scopeName  int16 = 1
	originName int16 = 2
	reasonName int16 = 3
)

const (
	// maxNames bounds the names kept in memory: a sender may put anything in an event type.
	maxNames = 20_000
	// maxProbes bounds how many names of one kind may share a hash.
	maxProbes = 8
)

const (
	namesSQL = `SELECT n.kind, n.id, n.a, n.b
FROM unnest($1::smallint[], $2::bytea[], $3::bytea[]) AS i(kind, a, b)
CROSS JOIN LATERAL (SELECT * FROM {schema}.names n WHERE n.kind = i.kind AND n.a = i.a AND n.b = i.b LIMIT 1) n`

	addNamesSQL = `INSERT INTO {schema}.names (kind, id, a, b)
SELECT * FROM unnest($1::smallint[], $2::integer[], $3::bytea[], $4::bytea[]) AS i(kind, id, a, b)
ORDER BY i.kind, i.a, i.b ON CONFLICT DO NOTHING`

	tellNamesSQL = `SELECT n.kind, n.id, n.a, n.b
FROM unnest($1::smallint[], $2::integer[]) AS i(kind, id)
CROSS JOIN LATERAL (SELECT * FROM {schema}.names n WHERE n.kind = i.kind AND n.id = i.id LIMIT 1) n`
)

var errNames = errors.New("postgres: a name could not be interned")

// name is a string, or a pair, that many rows share.
type name struct {
	kind int16
	a, b string
}

// empty names have the ID 0 and no row.
func (n name) empty() bool { return n.a == "" && n.b == "" }

func scopeOf(scope delivery.Scope) name { return name{kind: scopeName, a: string(scope)} }

// hash is the ID that a name wants; the tries after the first one are for names that share it.
func (n name) hash(try int) int32 {
	var salt [3]byte
	binary.BigEndian.PutUint16(salt[:], uint16(n.kind))
	salt[2] = byte(try)
	sum := delivery.HashParts(salt[:], []byte(n.a), []byte(n.b))
	return max(1, int32(binary.BigEndian.Uint32(sum[:4])>>1))
}

// nameID is how a row names a name.
type nameID struct {
	kind int16
	id   int32
}

// names knows which ID stands for which name. Safe for concurrent use.
type names struct {
	store *Store

	mu   sync.RWMutex
	ids  map[name]int32
	byID map[nameID]name
}

func newNames(store *Store) *names {
	n := &names{store: store}
	n.forget()
	return n
}

// forget drops everything: the database may no longer be the one that was asked.
func (n *names) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids, n.byID = map[name]int32{}, map[nameID]name{}
}

func (n *names) keep(known map[nameID]name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ids)+len(known) > maxNames {
		n.ids, n.byID = map[name]int32{}, map[nameID]name{}
	}
	for id, called := range known {
		n.ids[called], n.byID[id] = id.id, called
	}
}

// find gives every name that the database knows its ID; the others are missing in the answer.
func (n *names) find(ctx context.Context, wanted ...name) (map[name]int32, error) {
	ids, missing := n.recall(wanted)
	if len(missing) == 0 {
		return ids, nil
	}
	return ids, n.ask(ctx, missing, ids)
}

// intern gives every name an ID, and adds the ones that the database does not know.
func (n *names) intern(ctx context.Context, wanted []name) (map[name]int32, error) {
	ids, missing := n.recall(wanted)
	for try := 0; len(missing) > 0; try++ {
		if try > maxProbes {
			return nil, errNames
		}
		if err := n.ask(ctx, missing, ids); err != nil {
			return nil, err
		}
		if missing = without(missing, ids); len(missing) == 0 {
			break
		}
		if err := n.add(ctx, missing, try); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (n *names) recall(wanted []name) (map[name]int32, []name) {
	ids := make(map[name]int32, 8)
	var missing []name
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, w := range wanted {
		if _, done := ids[w]; done || w.empty() {
			continue
		}
		id, known := n.ids[w]
		if !known {
			missing = append(missing, w)
		}
		ids[w] = id
	}
	for _, m := range missing {
		delete(ids, m)
	}
	return ids, missing
}

func without(list []name, ids map[name]int32) []name {
	var rest []name
	for _, one := range list {
		if _, known := ids[one]; !known {
			rest = append(rest, one)
		}
	}
	return rest
}

// ask fills in the IDs that the database knows.
func (n *names) ask(ctx context.Context, list []name, ids map[name]int32) error {
	kinds, as, bs := columns(list)
	known, err := n.query(ctx, n.store.sql.names, kinds, as, bs)
	if err != nil {
		return err
	}
	n.keep(known)
	for id, called := range known {
		ids[called] = id.id
	}
	return nil
}

// query collects rows of the table.
func (n *names) query(ctx context.Context, sql string, args ...any) (map[nameID]name, error) {
	known := map[nameID]name{}
	err := n.store.run(ctx, call{guard: lookupGuard, sql: sql, args: args, scan: func(rows pgx.Rows) error {
		var id nameID
		var a, b []byte
		if err := rows.Scan(&id.kind, &id.id, &a, &b); err != nil {
			return err
		}
		known[id] = name{kind: id.kind, a: string(a), b: string(b)}
		return nil
	}})
	return known, err
}

func (n *names) add(ctx context.Context, list []name, try int) error {
	kinds, as, bs := columns(list)
	wants := make([]int32, len(list))
	for i, one := range list {
		wants[i] = one.hash(try)
	}
	return n.store.run(ctx, call{
		guard: lookupGuard, sql: n.store.sql.addNames, args: []any{kinds, wants, as, bs}, rows: len(list),
	})
}

func columns(list []name) (kinds []int16, as, bs [][]byte) {
	for _, one := range list {
		kinds, as, bs = append(kinds, one.kind), append(as, bytesOf(one.a)), append(bs, bytesOf(one.b))
	}
	return kinds, as, bs
}

// tell says what IDs stand for. One that the database does not know, because somebody deleted it, stands for nothing.
func (n *names) tell(ctx context.Context, wanted map[nameID]name) error {
	var kinds []int16
	var list []int32
	n.mu.RLock()
	for id := range wanted {
		called, known := n.byID[id]
		wanted[id] = called
		if !known && id.id != 0 {
			kinds, list = append(kinds, id.kind), append(list, id.id)
		}
	}
	n.mu.RUnlock()
	if len(list) == 0 {
		return nil
	}
	known, err := n.query(ctx, n.store.sql.tellNames, kinds, list)
	if err != nil {
		return err
	}
	n.keep(known)
	for id, called := range known {
		wanted[id] = called
	}
	return nil
}

// tellAll says what each of the IDs stands for.
func (n *names) tellAll(ctx context.Context, ids []nameID) (map[nameID]name, error) {
	wanted := make(map[nameID]name, len(ids))
	for _, id := range ids {
		wanted[id] = name{}
	}
	return wanted, n.tell(ctx, wanted)
}

// bytesOf is never nil, which would be NULL.
func bytesOf(text string) []byte { return append(make([]byte, 0, len(text)), text...) }
