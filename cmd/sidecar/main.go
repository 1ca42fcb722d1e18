// Sidecar makes webhook retries safe for applications that know nothing of them.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(newProgram().dispatch(context.Background(), os.Args[1:]))
}
