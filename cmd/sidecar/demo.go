package main

import "context"

func (p *program) demo(ctx context.Context, args []string) error { return errFailed }
