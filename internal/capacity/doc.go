// Package capacity tells what a ledger takes: by the equation events/day × days × bytes, and by what a ledger measures.
package capacity
