package cmd

// updateFailed shows what is wrong with a configuration that was edited.
func (v *view) updateFailed(replica string, err error) {
	if err == nil {
		v.once(replica, "the configuration is valid again")
		return
	}
	for _, line := range report(err) {
		v.once(replica, "not reloaded: "+line)
	}
}

// once shows what happens to all replicas at about the same time as the first
// of them says it.
func (v *view) once(replica, text string) {
	if replica == firstReplica {
		v.say(text)
	}
}
