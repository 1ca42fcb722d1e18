package postgres

import "github.com/jackc/pgx/v5/pgtype"

// The columns of a batch, as arrays whose elements are lent to the driver. Of a plain slice it makes an interface for each
// element, which costs an allocation for each value of each event.
type (
	byteColumn   [][]byte
	numberColumn []int32
	shortColumn  []int16
	longColumn   []int64
)

type (
	lentBytes  []byte
	lentNumber int32
	lentShort  int16
	lentLong   int64
)

func (b *lentBytes) BytesValue() ([]byte, error) { return *b, nil }

func (n *lentNumber) Int64Value() (pgtype.Int8, error) {
	return pgtype.Int8{Int64: int64(*n), Valid: true}, nil
}

func (n *lentShort) Int64Value() (pgtype.Int8, error) {
	return pgtype.Int8{Int64: int64(*n), Valid: true}, nil
}

func (n *lentLong) Int64Value() (pgtype.Int8, error) {
	return pgtype.Int8{Int64: int64(*n), Valid: true}, nil
}

func (c byteColumn) Dimensions() []pgtype.ArrayDimension   { return dimension(len(c)) }
func (c numberColumn) Dimensions() []pgtype.ArrayDimension { return dimension(len(c)) }
func (c shortColumn) Dimensions() []pgtype.ArrayDimension  { return dimension(len(c)) }
func (c longColumn) Dimensions() []pgtype.ArrayDimension   { return dimension(len(c)) }

func (c byteColumn) Index(i int) any   { return (*lentBytes)(&c[i]) } // a nil element is NULL
func (c numberColumn) Index(i int) any { return (*lentNumber)(&c[i]) }
func (c shortColumn) Index(i int) any  { return (*lentShort)(&c[i]) }
func (c longColumn) Index(i int) any   { return (*lentLong)(&c[i]) }

func (c byteColumn) IndexType() any   { return (*lentBytes)(nil) }
func (c numberColumn) IndexType() any { return (*lentNumber)(nil) }
func (c shortColumn) IndexType() any  { return (*lentShort)(nil) }
func (c longColumn) IndexType() any   { return (*lentLong)(nil) }

func dimension(length int) []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(length), LowerBound: 1}}
}

// lend makes columns of the slices among a prepared statement's arguments, which stay as they are.
func lend(args []any) []any {
	lent := make([]any, len(args))
	for i, arg := range args {
		switch column := arg.(type) {
		case [][]byte:
			lent[i] = byteColumn(column)
		case []int32:
			lent[i] = numberColumn(column)
		case []int16:
			lent[i] = shortColumn(column)
		case []int64:
			lent[i] = longColumn(column)
		default:
			lent[i] = arg
		}
	}
	return lent
}
