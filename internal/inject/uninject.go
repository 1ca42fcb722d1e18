package inject

import (
	"fmt"
	"strings"
)

// Uninject takes out whatever Inject put into a stream. Documents that it did not touch are copied byte for byte, and the
// others become what they were; where somebody has changed or reordered them since, only what is ours is taken out.
func Uninject(input []byte) (Result, error) {
	var result Result
	chunks := split(string(input))
	for i, chunk := range chunks {
		p, err := newPage(chunk)
		if err != nil {
			return Result{}, fmt.Errorf("document %d: %w", i+1, err)
		}
		if as := madeAs(p); as != "" {
			chunks[i] = undoAppended(&chunks, i, as)
			result.Changed++
			continue
		}
		chunks[i], err = restoreAll(p, func(s site) bool {
			if _, found, _ := recordOf(s); found {
				result.Changed++
				result.Notes = append(result.Notes, Note{Object: s.String(), Text: "uninjected"})
			}
			return true
		})
		if err != nil {
			return Result{}, fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	result.Output = []byte(strings.Join(chunks, ""))
	return result, nil
}

// restoreAll undoes the injection of every site that is chosen, in one document.
func restoreAll(p *page, chosen func(site) bool) (string, error) {
	var edits []edit
	for _, s := range sitesOf(p) {
		if !chosen(s) {
			continue
		}
		undo, err := restore(s)
		if err != nil {
			return "", err
		}
		edits = append(edits, undo...)
	}
	return cut(p.text, edits), nil
}

// sitesOf are the places of a document that may hold a record.
func sitesOf(p *page) []site {
	var sites []site
	for _, o := range objectsOf(p) {
		sites = append(sites, o.site())
		if template := o.templateSite(); o.kind != "Pod" && template.root != nil {
			sites = append(sites, template)
		}
	}
	return sites
}
