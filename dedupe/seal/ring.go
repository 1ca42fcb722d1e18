package seal

import "sync/atomic"

// Ring holds the keys in force. Safe for concurrent use.
type Ring struct{ keys atomic.Pointer[Keys] }

// NewRing makes a ring of these keys; nil: none.
func NewRing(keys *Keys) *Ring {
	r := &Ring{}
	r.Use(keys)
	return r
}

// Use puts other keys in force.
func (r *Ring) Use(keys *Keys) { r.keys.Store(keys) }

// Keys are those in force; nil: none.
func (r *Ring) Keys() *Keys { return r.keys.Load() }
