package v1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Response is what a scheduler or extender answers.
type Response struct {
	// Version is the version of the protocol: 1.
	Version int `json:"version"`

	// Digest is the digest of the request. An answer to another request is not used.
	Digest string `json:"digest"`

	// Decisions are the pairs that a scheduler chose. A candidate that is not listed is not assigned. It has to be there in
	// an answer to the task "schedule", and is an empty list if nothing is to be assigned.
	// +optional
	Decisions []Decision `json:"decisions,omitzero"`

	// Refused are the candidates that an extender does not let through.
	// +optional
	Refused []Refusal `json:"refused,omitzero"`

	// Scores are the scores that an extender gives. A candidate that is not listed has the score 0. For the task "extend",
	// refused or scores has to be there; an empty list is enough.
	// +optional
	Scores []Score `json:"scores,omitzero"`

	// Warnings are shown to the users of the policy. The answer is used.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	Warnings []string `json:"warnings,omitempty"`

	// Error says why there is no answer. What is published stays then.
	// +optional
	Error string `json:"error,omitempty"`
}

// Decision assigns a target to a cluster type.
type Decision struct {
	// Target is the name of a target of the request.
	Target string `json:"target"`

	// ClusterType is one of the target's candidates.
	ClusterType string `json:"clusterType"`

	// Reason is shown by kalypso explain.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`

	// Score is shown by kalypso explain. It has no other meaning.
	// +optional
	Score int32 `json:"score,omitempty"`
}

// Refusal keeps a target away from a cluster type.
type Refusal struct {
	// Target is the name of a target of the request.
	Target string `json:"target"`

	// ClusterType is one of the target's candidates.
	ClusterType string `json:"clusterType"`

	// Reason is shown by kalypso explain.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`
}

// Score is how good a cluster type is for a target.
type Score struct {
	// Target is the name of a target of the request.
	Target string `json:"target"`

	// ClusterType is one of the target's candidates.
	ClusterType string `json:"clusterType"`

	// Score is from 0 to 100. The weight of the extender in the policy makes points of it.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Score int32 `json:"score"`
}

// ParseResponse decodes and checks the answer to a request. An answer is used as a whole or not at all: the error names the
// first rule of the protocol that it breaks. [Response.Error] is not checked: a response with one has nothing else to use.
func ParseResponse(text []byte, to *Request) (*Response, error) {
	if len(text) > MaxResponseBytes {
		return nil, fmt.Errorf("it has more than %d bytes", MaxResponseBytes)
	}
	var r Response
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty")
	} else if err != nil {
		return nil, fmt.Errorf("it is not a response of the protocol: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the response")
	}
	return &r, r.Check(to)
}

// Check returns the first rule of the protocol that an answer to a request breaks.
func (r *Response) Check(to *Request) error {
	switch {
	case r.Version != Version:
		return fmt.Errorf("it has version %d of the protocol, want %d", r.Version, Version)
	case r.Error != "":
		return nil
	case r.Digest != to.Digest:
		return errors.New("it has the digest of another request")
	case to.Task == Schedule && r.Decisions == nil:
		return errors.New("it has no decisions; an empty list assigns nothing")
	case to.Task == Schedule && (r.Refused != nil || r.Scores != nil):
		return errors.New("it refuses or scores candidates; a scheduler decides")
	case to.Task == Extend && r.Refused == nil && r.Scores == nil:
		return errors.New("it has neither refused nor scores; an empty list lets everything through")
	case to.Task == Extend && r.Decisions != nil:
		return errors.New("it has decisions; an extender refuses or scores candidates")
	case len(r.Warnings) > MaxWarnings:
		return fmt.Errorf("it has %d warnings, at most %d are allowed", len(r.Warnings), MaxWarnings)
	}
	if i := slices.IndexFunc(r.Warnings, tooLong); i >= 0 {
		return fmt.Errorf("warnings[%d] is longer than %d bytes", i, MaxReason)
	}
	return r.checkPairs(to)
}

// checkPairs checks that each pair is a candidate, and in a list only once.
func (r *Response) checkPairs(to *Request) error {
	candidates := to.candidates()
	decided, refused, scored := pairs{}, pairs{}, pairs{}
	for i, d := range r.Decisions {
		if err := decided.add(d.Target, d.ClusterType, d.Reason, candidates); err != nil {
			return fmt.Errorf("decisions[%d]: %w", i, err)
		}
	}
	if limit := to.Policy.MaxClusterTypes; limit > 0 {
		if target := decided.moreThan(int(limit)); target != "" {
			return fmt.Errorf("decisions: target %q has more than %d cluster types, the maximum of the policy", target, limit)
		}
	}
	for i, f := range r.Refused {
		if err := refused.add(f.Target, f.ClusterType, f.Reason, candidates); err != nil {
			return fmt.Errorf("refused[%d]: %w", i, err)
		}
		if f.Reason == "" {
			return fmt.Errorf("refused[%d]: there is no reason", i)
		}
	}
	for i, s := range r.Scores {
		if err := scored.add(s.Target, s.ClusterType, "", candidates); err != nil {
			return fmt.Errorf("scores[%d]: %w", i, err)
		}
		if s.Score < 0 || s.Score > MaxScore {
			return fmt.Errorf("scores[%d]: %d is not from 0 to %d", i, s.Score, MaxScore)
		}
	}
	return nil
}

// pairs are pairs of a target and a cluster type.
type pairs map[[2]string]bool

// candidates returns the pairs that a request asks about.
func (r *Request) candidates() pairs {
	all := pairs{}
	for _, t := range r.Targets {
		for _, c := range t.Candidates {
			all[[2]string{t.Name, c}] = true
		}
	}
	return all
}

func (p pairs) add(target, clusterType, reason string, candidates pairs) error {
	pair := [2]string{target, clusterType}
	switch {
	case !candidates[pair]:
		return fmt.Errorf("%q is not a candidate of target %q", clip(clusterType), clip(target))
	case p[pair]:
		return fmt.Errorf("target %q on %q is there twice", target, clusterType)
	case tooLong(reason):
		return fmt.Errorf("the reason is longer than %d bytes", MaxReason)
	}
	p[pair] = true
	return nil
}

// moreThan returns the first target that is in more than limit pairs.
func (p pairs) moreThan(limit int) string {
	count, found := map[string]int{}, ""
	for pair := range p {
		count[pair[0]]++
		if count[pair[0]] > limit && (found == "" || pair[0] < found) {
			found = pair[0]
		}
	}
	return found
}

func tooLong(text string) bool { return len(text) > MaxReason }

// clip shortens a name of a response that may be anything.
func clip(name string) string {
	if len(name) > 100 {
		return name[:100] + "..."
	}
	return name
}
