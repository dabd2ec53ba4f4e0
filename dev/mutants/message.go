package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// located is how a test's own message begins: with where it was said.
var located = regexp.MustCompile(`^\s+[\w./-]+\.go:\d+: (.*)`)

// messages takes the messages out of the lines that a test printed; what goes
// over several lines becomes one.
func messages(lines []string) []string {
	var list []string
	for _, line := range lines {
		text := strings.TrimSpace(line)
		switch m := located.FindStringSubmatch(line); {
		case m != nil:
			list = append(list, strings.TrimSpace(m[1]))
		case strings.HasPrefix(text, "---"), strings.HasPrefix(text, "==="), text == "":
		case len(list) > 0:
			list[len(list)-1] += " " + text
		}
	}
	return list
}

// A test that dies, or that could not even begin, has not judged anything: any
// bug, or none, may end it so. These begin lines of its output.
var deaths = []string{"panic: ", "fatal error: ", "WARNING: DATA RACE", "SIGQUIT"}

// These are messages of helpers that could not begin.
var unfit = []string{"ended before it was ready", "starting redis-server", "this test needs", "cannot start"}

// why is what the failed tests said, or all the output if they said nothing.
func (r result) why() string {
	if len(r.messages) == 0 {
		return r.output
	}
	return r.failed + ": " + strings.Join(r.messages, "; ")
}

// verdict returns the message by which a test of r's judged the plant: one that
// has the text says, or the last one if says is empty.
func (r result) verdict(says string) (string, error) {
	for line := range strings.Lines(r.output) {
		for _, death := range deaths {
			if strings.HasPrefix(line, death) {
				return "", fmt.Errorf("%s dies, and does not say what is wrong: %s", r.failed, strings.TrimSpace(line))
			}
		}
	}
	if r.died {
		return "", fmt.Errorf("%s dies, and does not say what is wrong", r.failed)
	}
	own := ""
	for _, m := range r.messages {
		for _, u := range unfit {
			if strings.Contains(m, u) {
				return "", fmt.Errorf("%s could not begin: %s", r.failed, m)
			}
		}
		if strings.Contains(m, says) && (says == "" || own == "") {
			own = m
		}
	}
	switch {
	case len(r.messages) == 0:
		return "", errors.New(r.failed + " fails without a message of its own")
	case own == "":
		return "", fmt.Errorf("%s fails, but does not say %q: %s", r.failed, says, fit(strings.Join(r.messages, "; "), 500))
	}
	return own, nil
}
