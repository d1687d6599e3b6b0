package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/api"
	"vnfm/lcm"
	"vnfm/lcm/notify"
)

// SubscriptionRegistry is what the server needs of subscriptions. *[notify.Registry] has it.
type SubscriptionRegistry interface {
	Create(ctx context.Context, subscription *notify.Subscription) error
	Subscription(ctx context.Context, of notify.Interface, id uuid.UUID) (*notify.Subscription, error)
	Subscriptions(ctx context.Context, of notify.Interface, page lcm.Page) ([]*notify.Subscription, bool, error)
	Delete(ctx context.Context, of notify.Interface, id uuid.UUID) error
}

// subscriptionRoutes are the routes of the subscriptions to an interface.
func (s *Server) subscriptionRoutes(to notify.Interface, of collection) []route {
	list := "/" + string(to) + "/v1/subscriptions"
	one := list + "/:subscriptionId"
	return []route{
		{http.MethodGet, list, s.listSubscriptions(to, of), nil},
		{http.MethodPost, list, s.createSubscription(to), nil},
		{http.MethodGet, one, s.showSubscription(to), nil},
		{http.MethodDelete, one, s.deleteSubscription(to), []string{mediaAny}},
	}
}

// subscription is the wire form of a subscription; LccnSubscription and PkgmSubscription have the same attributes.
func subscription(of *notify.Subscription) api.LccnSubscription {
	shown := api.LccnSubscription{
		ID:              of.ID.String(),
		CallbackURI:     of.CallbackURI,
		UnderscoreLinks: api.SubscriptionLinks{Self: api.Link{Href: of.Interface.Path(of.ID)}},
	}
	if !of.Filter.Empty() {
		shown.Filter = of.Filter
	}
	return shown
}

func subscriptionID(c echo.Context) (uuid.UUID, error) {
	return id(c, "subscriptionId", "subscription")
}

func (s *Server) createSubscription(to notify.Interface) echo.HandlerFunc {
	return func(c echo.Context) error {
		wanted, err := notify.Decode(to, body(c))
		if err != nil {
			return err
		}
		err = s.config.Subscriptions.Create(c.Request().Context(), wanted)
		var duplicate *notify.Duplicate
		if errors.As(err, &duplicate) {
			c.Response().Header().Set(echo.HeaderLocation, to.Path(duplicate.ID))
			return c.NoContent(http.StatusSeeOther)
		}
		if err != nil {
			return err
		}
		c.Response().Header().Set(echo.HeaderLocation, to.Path(wanted.ID))
		return c.JSON(http.StatusCreated, subscription(wanted))
	}
}

func (s *Server) listSubscriptions(to notify.Interface, of collection) echo.HandlerFunc {
	return func(c echo.Context) error {
		asked, err := s.ask(c, of)
		if err != nil {
			return err
		}
		found, more, err := s.config.Subscriptions.Subscriptions(c.Request().Context(), to, asked.page())
		if err != nil {
			return err
		}
		return answerList(c, asked, found, subscription, more,
			func(last *notify.Subscription) cursor { return cursor{last.CreatedAt.UnixMicro(), last.ID} })
	}
}

func (s *Server) showSubscription(to notify.Interface) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := subscriptionID(c)
		if err != nil {
			return err
		}
		found, err := s.config.Subscriptions.Subscription(c.Request().Context(), to, id)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, subscription(found))
	}
}

func (s *Server) deleteSubscription(to notify.Interface) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := subscriptionID(c)
		if err != nil {
			return err
		}
		if err := s.config.Subscriptions.Delete(c.Request().Context(), to, id); err != nil {
			return err
		}
		return c.NoContent(http.StatusNoContent)
	}
}
