package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/api"
	"vnfm/lcm"
)

const vimsPath = "/v1.0/vims/"

func vimID(c echo.Context) (uuid.UUID, error) { return id(c, "vimId", "VIM") }

// vimDocument is the wire form of a VIM, its secrets masked.
func vimDocument(vim *lcm.Vim) api.Vim {
	credentials, _ := lcm.Mask(vim.AuthCred).(map[string]any)
	shown := api.Vim{
		ID:            vim.ID.String(),
		TenantID:      vim.TenantID,
		Name:          vim.Name,
		Description:   vim.Description,
		Type:          vim.Type,
		AuthURL:       vim.AuthURL,
		VimProject:    vim.VimProject,
		AuthCred:      credentials,
		IsDefault:     vim.IsDefault,
		Extra:         vim.Extra,
		PlacementAttr: api.PlacementAttributes{Regions: vim.Regions},
		Status:        vim.Status,
		CreatedAt:     vim.CreatedAt.UTC(),
	}
	if shown.PlacementAttr.Regions == nil {
		shown.PlacementAttr.Regions = []string{}
	}
	if shown.Extra == nil {
		shown.Extra = map[string]any{}
	}
	if !vim.UpdatedAt.IsZero() {
		updated := vim.UpdatedAt.UTC()
		shown.UpdatedAt = &updated
	}
	return shown
}

func (s *Server) registerVim(c echo.Context) error {
	var request api.RegisterVimRequest
	if err := json.Unmarshal(body(c), &request); err != nil {
		return badRequest(err.Error())
	}
	asked := request.Vim
	vim, err := s.config.Vims.Register(c.Request().Context(), &lcm.Vim{
		TenantID: asked.TenantID, Name: asked.Name, Description: asked.Description, Type: asked.Type, AuthURL: asked.AuthURL,
		VimProject: asked.VimProject, AuthCred: asked.AuthCred, IsDefault: asked.IsDefault, Extra: asked.Extra,
	})
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, vimsPath+vim.ID.String())
	return c.JSON(http.StatusCreated, api.VimDocument{Vim: vimDocument(vim)})
}

// listVims lists those VIMs that have the values which the query gives, with those attributes only that it names as fields. The client
// finds a VIM by its name or id that way.
func (s *Server) listVims(c echo.Context) error {
	filters := []string{"id", "name", "description", "type", "auth_url", "tenant_id", "status", "is_default"}
	query := c.QueryParams()
	if err := checkQuery(query, append(slices.Clone(filters), "fields")...); err != nil {
		return err
	}
	vims, err := s.config.Vims.Vims(c.Request().Context())
	if err != nil {
		return err
	}
	shown := []any{}
	for _, vim := range vims {
		attributes, err := attributesOf(vimDocument(vim))
		if err != nil {
			return err
		}
		if hasValues(attributes, query, filters) {
			shown = append(shown, selected(attributes, query["fields"]))
		}
	}
	return c.JSON(http.StatusOK, api.VimList{Vims: shown})
}

func attributesOf(document any) (map[string]any, error) {
	encoded, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	attributes := map[string]any{}
	return attributes, json.Unmarshal(encoded, &attributes)
}

// hasValues reports whether every filter of the query has the value of the attribute as one of its values.
func hasValues(attributes map[string]any, query url.Values, filters []string) bool {
	for _, name := range filters {
		if query.Has(name) && !slices.ContainsFunc(query[name], func(value string) bool { return equals(attributes[name], value) }) {
			return false
		}
	}
	return true
}

func equals(attribute any, value string) bool {
	switch attribute := attribute.(type) {
	case bool:
		return strings.EqualFold(value, map[bool]string{true: "true", false: "false"}[attribute])
	case string:
		return attribute == value
	}
	return false
}

func selected(attributes map[string]any, fields []string) map[string]any {
	if len(fields) == 0 {
		return attributes
	}
	chosen := map[string]any{}
	for _, field := range fields {
		if value, ok := attributes[field]; ok {
			chosen[field] = value
		}
	}
	return chosen
}

func (s *Server) showVim(c echo.Context) error {
	id, err := vimID(c)
	if err != nil {
		return err
	}
	vim, err := s.config.Vims.Vim(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.VimDocument{Vim: vimDocument(vim)})
}

func (s *Server) updateVim(c echo.Context) error {
	id, err := vimID(c)
	if err != nil {
		return err
	}
	var request api.UpdateVimRequest
	if err := json.Unmarshal(body(c), &request); err != nil {
		return badRequest(err.Error())
	}
	vim, err := s.config.Vims.Update(c.Request().Context(), id, lcm.VimChange{
		Name: request.Vim.Name, Description: request.Vim.Description, IsDefault: request.Vim.IsDefault,
		VimProject: request.Vim.VimProject, AuthCred: request.Vim.AuthCred, Extra: request.Vim.Extra,
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.VimDocument{Vim: vimDocument(vim)})
}

func (s *Server) deleteVim(c echo.Context) error {
	id, err := vimID(c)
	if err != nil {
		return err
	}
	if err := s.config.Vims.Delete(c.Request().Context(), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
