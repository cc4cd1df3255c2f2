package web

import (
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// messagesPage shows the receivers of messages about promotions, and the messages to them.
type messagesPage struct {
	api.Messages
	// Receiver and Show are the selected ones; Show is undelivered, or empty for all.
	Receiver, Show string
	// Names are those of all receivers.
	Names []string
}

// undelivered selects messages that a receiver does not have.
const undelivered = "undelivered"

func (s *site) messages(q *pageRequest) (*pageResult, error) {
	if !q.role.Includes(access.Operator) {
		return nil, &access.Refusal{Kind: access.ErrForbidden, What: "messages to receivers need the role operator", Next: "sign in with that role"}
	}
	if s.Outbox == nil {
		return nil, query.Unknown("page", "messages", nil)
	}
	show, err := oneOf(q, "show", undelivered)
	if err != nil {
		return nil, err
	}
	view := messagesPage{Receiver: q.text("receiver"), Show: show}
	receivers, err := s.Outbox.Receivers(q.Context())
	if err != nil {
		return nil, err
	}
	for _, r := range receivers {
		view.Names = append(view.Names, r.Name)
	}
	view.Messages, err = api.ListMessages(q.Context(), s.Outbox, api.MessagesQuery{Receiver: view.Receiver, Delivered: show == ""})
	if err != nil {
		return nil, err
	}
	command := "kalypso notify status"
	if view.Receiver != "" {
		command += " " + view.Receiver
	}
	return &pageResult{title: "Messages", value: view.Messages, view: view, command: command, concerns: []string{operations("")}}, nil
}
