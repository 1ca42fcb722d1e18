// Package testenv starts the real services that tests need: PostgreSQL, Redis and PgBouncer, each throwaway, on a free
// port of 127.0.0.1, and ended together with the test process, however that ends.
//
// Postgres, Redis and PgBouncer are what most tests want: an address of something fresh. NewCluster and NewRedis give a
// service of the test's own that can be stopped, started, frozen and thawed; a Tap stands between a client and a service
// and cuts, swallows, delays or refuses. A missing service fails the test and never skips it.
package testenv
