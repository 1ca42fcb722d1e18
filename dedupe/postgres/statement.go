package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// statements are the store's SQL with the namespace's schema in it.
type statements struct {
	schema                                     string // quoted
	insert                                     string
	insertOne                                  string
	insertJob                                  string
	existing                                   string
	move                                       string
	apply, applyOne                            string
	moveAll                                    string
	read                                       string
	names                                      string
	addNames                                   string
	tellNames                                  string
	evidence                                   string
	find                                       string
	list, listWaiting, listClaimed, listQueued string
	attention                                  string
	expired                                    string
	forget, left, forgetJob                    string
	job                                        string
	setPaused, pauseActs                       string
	inflow                                     string
	recordCredentials                          string
	credentialEvents, lastOfCredentials        string
	due                                        string
	keptRequests, keptResults                  string
	rewriteRequests, rewriteResults            string
	jobHeads                                   string
	recordRotation, rotations                  string
	unsealed, seal, retire                     string
	scopes, strays, ends, chain, history       string
	marked, unmarked                           string
}

func schemaOf(namespace string) string { return "sidecar_" + namespace }

func statementsOf(namespace string) statements {
	schema := pgx.Identifier{schemaOf(namespace)}.Sanitize()
	in := func(sql string) string { return strings.ReplaceAll(sql, "{schema}", schema) }
	return statements{
		schema: schema, insert: in(insertSQL), insertOne: in(insertOneSQL), insertJob: in(insertJobSQL),
		existing: in(existingSQL), move: in(moveSQL), apply: in(applySQL), applyOne: in(applyOneSQL), moveAll: in(moveAllSQL),
		read: in(readSQL), names: in(namesSQL), addNames: in(addNamesSQL), tellNames: in(tellNamesSQL),
		evidence: in(evidenceSQL), find: in(findSQL), list: in(listSQL),
		listWaiting: in(listWaitingSQL), listClaimed: in(listClaimedSQL), listQueued: in(listQueuedSQL), attention: in(attentionSQL),
		expired: in(expiredSQL), forget: in(forgetSQL), left: in(leftSQL),
		forgetJob: in(forgetJobSQL), job: in(jobSQL), due: in(dueSQL), setPaused: in(setPausedSQL), inflow: in(inflowSQL),
		pauseActs: in(pauseActsSQL), recordCredentials: in(recordCredentialsSQL),
		credentialEvents: in(credentialEventsSQL), lastOfCredentials: in(lastOfCredentialsSQL),
		keptRequests: in(keptRequestsSQL), keptResults: in(keptResultsSQL),
		rewriteRequests: in(rewriteRequestsSQL), rewriteResults: in(rewriteResultsSQL), jobHeads: in(jobHeadsSQL),
		recordRotation: in(recordRotationSQL), rotations: in(rotationsSQL),
		unsealed: in(unsealedSQL), seal: in(sealSQL), retire: in(retireSQL), scopes: in(scopesSQL), strays: in(straysSQL), ends: in(endsSQL),
		chain: in(chainSQL), history: in(historySQL), marked: in(markedSQL), unmarked: in(unmarkedSQL),
	}
}
