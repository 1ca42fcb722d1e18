// Package console shows receipts: to people as a list and as a story, to programs as JSON. It never shows a secret, and a
// recorded body only where somebody asked for that one receipt.
package console
