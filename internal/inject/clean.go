package inject

// clusterKeys are what only a cluster writes into an object. To send them back makes an update fail, or lie.
func clusterKeys() []pointer {
	return []pointer{
		{"metadata", "creationTimestamp"}, {"metadata", "generation"}, {"metadata", "managedFields"}, {"metadata", "resourceVersion"},
		{"metadata", "selfLink"}, {"metadata", "uid"}, {"status"},
	}
}

// cleanSites takes out of objects that were read from a cluster what the cluster has added.
func (r *run) cleanSites(sites []site) error {
	edits := map[*page][]edit{}
	seen := map[string]bool{}
	for _, s := range r.current(sites) {
		if textOf(child(s.root, "metadata", "uid")) == "" || seen[s.String()] {
			continue
		}
		seen[s.String()] = true
		for _, at := range clusterKeys() {
			found, err := locate(s.root, at)
			if err != nil {
				continue
			}
			one, err := s.page.deletion(found)
			if err != nil {
				return s.at(err)
			}
			edits[s.page] = append(edits[s.page], one)
		}
	}
	return r.rewrite(edits)
}

// current finds objects again after their documents were rewritten.
func (r *run) current(sites []site) []*object {
	wanted := map[string]bool{}
	for _, s := range sites {
		wanted[s.object.namespace+" "+s.object.String()] = true
	}
	var found []*object
	for _, o := range objectsOfAll(r.pages) {
		if wanted[o.namespace+" "+o.String()] {
			found = append(found, o)
		}
	}
	return found
}
