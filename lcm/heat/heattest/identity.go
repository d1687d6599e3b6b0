package heattest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

func (c *Cloud) identityRoutes() {
	c.open("GET "+identityPrefix+"/{$}", c.identityVersions)
	c.open("GET "+identityPrefix+"", c.identityVersions)
	c.open("GET "+identityPrefix+"/v3", c.identityVersion)
	c.open("GET "+identityPrefix+"/v3/{$}", c.identityVersion)
	c.open("POST "+identityPrefix+"/v3/auth/tokens", c.issueToken)
	c.open("GET "+identityPrefix+"/v3/auth/tokens", c.showToken)
	c.open("DELETE "+identityPrefix+"/v3/auth/tokens", c.revokeToken)
	c.guarded("GET "+identityPrefix+"/v3/auth/catalog", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		return ok(object{"catalog": c.catalog(r), "links": object{"self": c.baseURL(r) + identityPrefix + "/v3/auth/catalog", "previous": nil, "next": nil}})
	})
	c.guarded("GET "+identityPrefix+"/v3/regions", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		self := c.baseURL(r) + identityPrefix + "/v3/regions"
		return ok(object{"regions": []object{c.regionView(r)}, "links": object{"next": nil, "self": self, "previous": nil}})
	})
	c.guarded("GET "+identityPrefix+"/v3/regions/{id}", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		if id := r.PathValue("id"); id != c.account.Region {
			return nil, keystoneFailure(http.StatusNotFound, "Not Found", "Could not find region: "+id+".")
		}
		return ok(object{"region": c.regionView(r)})
	})
	c.guarded("GET "+identityPrefix+"/v3/auth/projects", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		return ok(object{"projects": []object{c.projectView(r)},
			"links": object{"self": c.baseURL(r) + identityPrefix + "/v3/auth/projects", "previous": nil, "next": nil}})
	})
	c.guarded("GET "+identityPrefix+"/v3/projects/{id}", c.showProject)
}

func (c *Cloud) regionView(r *http.Request) object {
	return object{"id": c.account.Region, "description": "", "parent_region_id": nil,
		"links": object{"self": c.baseURL(r) + identityPrefix + "/v3/regions/" + c.account.Region}}
}

func (c *Cloud) projectView(r *http.Request) object {
	return object{"id": c.account.ProjectID, "name": c.account.Project, "domain_id": c.domainID(), "description": "", "enabled": true,
		"parent_id": c.domainID(), "is_domain": false, "tags": []string{}, "options": object{},
		"links": object{"self": c.baseURL(r) + identityPrefix + "/v3/projects/" + c.account.ProjectID}}
}

func (c *Cloud) identityVersion(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	return ok(object{"version": c.keystoneVersion(r)})
}

func (c *Cloud) identityVersions(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	return &reply{status: http.StatusMultipleChoices, body: object{"versions": object{"values": []object{c.keystoneVersion(r)}}},
		location: c.baseURL(r) + identityPrefix + "/v3/"}, nil
}

func (c *Cloud) keystoneVersion(r *http.Request) object {
	return object{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links":       []object{{"rel": "self", "href": c.baseURL(r) + identityPrefix + "/v3/"}},
		"media-types": []object{{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}},
	}
}

const clientInError = "The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error."

// issueToken knows the method password, with the user and the project named by id or by name and domain.
func (c *Cloud) issueToken(w http.ResponseWriter, r *http.Request) (*reply, error) {
	body, err := decode(w, r)
	if err != nil {
		return nil, keystoneFailure(http.StatusBadRequest, "Bad Request", "Expecting to find valid JSON in request body. "+clientInError)
	}
	if body["auth"] == nil {
		return nil, keystoneFailure(http.StatusBadRequest, "Bad Request", "Expecting to find auth in request body. "+clientInError)
	}
	auth := child(body, "auth")
	user := child(child(child(auth, "identity"), "password"), "user")
	if len(user) == 0 {
		return nil, keystoneFailure(http.StatusBadRequest, "Bad Request", "Invalid input for field 'auth/identity': 'password' is a required property")
	}
	if text(user, "password") != c.account.Password || !c.names(user, c.account.User, c.account.UserID) {
		return nil, keystoneFailure(http.StatusUnauthorized, "Unauthorized", "The request you have made requires authentication.")
	}
	project := child(child(auth, "scope"), "project")
	scoped := len(project) > 0
	if scoped && !c.names(project, c.account.Project, c.account.ProjectID) {
		return nil, keystoneFailure(http.StatusUnauthorized, "Unauthorized", "The request you have made requires authentication.")
	}
	token := "gAAAAAB" + newHexID() + newHexID() + newHexID()
	life := c.opts.TokenLifetime
	if life == 0 {
		life = time.Hour
	}
	issued := time.Now()
	c.tokens[token] = issued.Add(life)
	c.forgetTokens(issued)
	return &reply{status: http.StatusCreated, body: object{"token": c.tokenBody(r, issued, issued.Add(life), scoped)},
		header: http.Header{"X-Subject-Token": {token}, "Vary": {"X-Auth-Token"}}}, nil
}

// forgetTokens drops what expired. The lock is held.
func (c *Cloud) forgetTokens(now time.Time) {
	for t, expires := range c.tokens {
		if expires.Before(now) {
			delete(c.tokens, t)
		}
	}
}

// names tells whether a reference {id} or {name, domain} means the given thing.
func (c *Cloud) names(ref object, name, id string) bool {
	if given := text(ref, "id"); given != "" {
		return given == id
	}
	domain := child(ref, "domain")
	return text(ref, "name") == name && (text(domain, "name") == c.account.Domain || text(domain, "id") == c.domainID())
}

func (c *Cloud) domainID() string { return strings.ToLower(c.account.Domain) }

func (c *Cloud) tokenBody(r *http.Request, issued, expires time.Time, scoped bool) object {
	const layout = "2006-01-02T15:04:05.000000Z"
	domain := object{"id": c.domainID(), "name": c.account.Domain}
	body := object{
		"methods":    []string{"password"},
		"user":       object{"domain": domain, "id": c.account.UserID, "name": c.account.User, "password_expires_at": nil},
		"audit_ids":  []string{newHexID()[:22]},
		"expires_at": expires.UTC().Format(layout),
		"issued_at":  issued.UTC().Format(layout),
	}
	if scoped {
		body["project"] = object{"domain": domain, "id": c.account.ProjectID, "name": c.account.Project}
		body["is_domain"] = false
		body["roles"] = listOf(c.account.Roles, func(name string) object { return object{"id": roleID(name), "name": name} })
		body["catalog"] = c.catalog(r)
	}
	return body
}

// roleID is made of the name, so that it is the same in every token.
func roleID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

func (c *Cloud) catalog(r *http.Request) []object {
	project := c.account.ProjectID
	var out []object
	for _, s := range []struct{ typ, name, path string }{
		{"identity", "keystone", identityPrefix + "/v3"},
		{"orchestration", "heat", orchestrationPrefix + "/v1/" + project},
		{"compute", "nova", computePrefix + "/v2.1"},
		{"network", "neutron", networkPrefix},
		{"image", "glance", imagePrefix},
		{"volumev3", "cinderv3", volumePrefix + "/v3/" + project},
		{"block-storage", "cinder", volumePrefix + "/v3/" + project},
	} {
		var endpoints []object
		for _, face := range []string{"public", "internal", "admin"} {
			endpoints = append(endpoints, object{"id": newHexID(), "interface": face, "region": c.account.Region, "region_id": c.account.Region,
				"url": c.baseURL(r) + s.path})
		}
		out = append(out, object{"id": newHexID(), "type": s.typ, "name": s.name, "endpoints": endpoints})
	}
	return out
}

func (c *Cloud) showToken(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	if !c.tokenValid(r.Header.Get("X-Auth-Token")) {
		return nil, keystoneFailure(http.StatusUnauthorized, "Unauthorized", "The request you have made requires authentication.")
	}
	subject := r.Header.Get("X-Subject-Token")
	expires, known := c.tokens[subject]
	if !known || !c.tokenValid(subject) {
		return nil, keystoneFailure(http.StatusNotFound, "Not Found", "Could not recognize Fernet token")
	}
	return &reply{status: http.StatusOK, body: object{"token": c.tokenBody(r, time.Now(), expires, true)},
		header: http.Header{"X-Subject-Token": {subject}}}, nil
}

func (c *Cloud) revokeToken(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	if !c.tokenValid(r.Header.Get("X-Auth-Token")) {
		return nil, keystoneFailure(http.StatusUnauthorized, "Unauthorized", "The request you have made requires authentication.")
	}
	delete(c.tokens, r.Header.Get("X-Subject-Token"))
	return &reply{status: http.StatusNoContent}, nil
}

func (c *Cloud) showProject(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	id := r.PathValue("id")
	if id != c.account.ProjectID {
		return nil, keystoneFailure(http.StatusNotFound, "Not Found", "Could not find project: "+id+".")
	}
	return ok(object{"project": c.projectView(r)})
}

// RevokeTokens makes every token that was issued so far invalid.
func (c *Cloud) RevokeTokens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tokens)
}

func (c *Cloud) tokenValid(token string) bool {
	expires, ok := c.tokens[token]
	return ok && time.Now().Before(expires)
}

func keystoneFailure(status int, title, message string) error {
	return &failure{status: status, message: message, body: object{"error": object{"code": status, "message": message, "title": title}}}
}

// unauthorized is what every other service says to a bad token.
func (c *Cloud) unauthorized(r *http.Request) error {
	const message = "The request you have made requires authentication."
	return &failure{status: http.StatusUnauthorized, message: message, header: c.challenge(r),
		body: object{"error": object{"message": message, "code": 401, "title": "Unauthorized"}}}
}

// unauthorizedPage is what Glance says to a bad token.
func (c *Cloud) unauthorizedPage(r *http.Request) error {
	const message = "This server could not verify that you are authorized to access the document you requested. Either you supplied the wrong " +
		"credentials (e.g., bad password), or your browser does not understand how to supply the credentials required."
	return &failure{status: http.StatusUnauthorized, message: message, header: c.challenge(r), body: page(message + "<br /><br />\n\n\n")}
}

func (c *Cloud) challenge(r *http.Request) string {
	return `Keystone uri="` + c.baseURL(r) + identityPrefix + `/v3"`
}
