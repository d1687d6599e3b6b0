package heattest

import (
	"context"
	"crypto/md5" //nolint:gosec // Glance's
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"slices"
	"time"
)

type image struct {
	id, name, status            string // status: queued, saving, active
	diskFormat, containerFormat any
	visibility                  string
	minDiskGiB, minRAMMiB       int
	size                        int64
	checksum, sha512            string
	properties                  object
	tags                        []any
	content                     []byte // only of small images; what is larger is counted and hashed
	protected, hidden           bool
	created, updated            time.Time
}

// keepContent is up to which size an image can be downloaded again.
const keepContent = 1 << 20

func (c *Cloud) findImage(ref string) (*image, error) {
	if i, ok := c.images.get(ref); ok {
		return i, nil
	}
	found := c.images.list(func(i *image) bool { return i.name == ref })
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("No images matching {'name': '%s'}.", ref) //nolint:staticcheck,revive // Heat's words
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("No images unique match found for {'name': '%s'}.", ref) //nolint:staticcheck,revive // Heat's words
}

func (c *Cloud) addImage(name string) *image {
	i := &image{id: newID(), name: name, status: "queued", visibility: "shared", created: time.Now(), updated: time.Now()}
	c.images.put(i.id, i)
	return i
}

func (i *image) fill(r io.Reader) error {
	sum, sha := md5.New(), sha512.New() //nolint:gosec // Glance's
	var kept capped
	n, err := io.Copy(io.MultiWriter(sum, sha, &kept), r)
	if err != nil {
		return err
	}
	i.size, i.checksum, i.sha512 = n, hexSum(sum), hexSum(sha)
	if n <= keepContent {
		i.content = kept
	}
	i.status, i.updated = "active", time.Now()
	return nil
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// capped keeps the first keepContent bytes.
type capped []byte

func (c *capped) Write(b []byte) (int, error) {
	*c = append(*c, b[:min(len(b), keepContent-len(*c))]...)
	return len(b), nil
}

func (c *Cloud) imageRoutes() {
	c.open("GET "+imagePrefix+"/{$}", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		return &reply{status: http.StatusMultipleChoices, body: object{"versions": []object{{"id": "v2.15", "status": "CURRENT",
			"links": []object{{"rel": "self", "href": c.baseURL(r) + imagePrefix + "/v2/"}}}}}}, nil
	})
	c.guarded("GET "+imagePrefix+"/v2/images", c.listImages)
	c.guarded("POST "+imagePrefix+"/v2/images", c.createImage)
	c.guarded("GET "+imagePrefix+"/v2/images/{id}", c.onImage(func(i *image) (*reply, error) { return ok(i.view(c)) }))
	c.guarded("DELETE "+imagePrefix+"/v2/images/{id}", c.onImage(c.deleteImage))
	c.guarded("GET "+imagePrefix+"/v2/info/import", func(http.ResponseWriter, *http.Request) (*reply, error) {
		return ok(object{"import-methods": object{"description": "Import methods available.", "type": "array", "value": c.opts.ImportMethods}})
	})
	c.guarded("POST "+imagePrefix+"/v2/images/{id}/import", c.importImage)
	c.guarded("GET "+imagePrefix+"/v2/images/{id}/file", c.onImage(func(i *image) (*reply, error) {
		if i.status != "active" || i.content == nil {
			return &reply{status: http.StatusNoContent}, nil
		}
		return &reply{status: http.StatusOK, body: i.content}, nil
	}))
	c.mux.HandleFunc("PUT "+imagePrefix+"/v2/images/{id}/file", c.uploadImage)
}

func (c *Cloud) listImages(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	q := r.URL.Query()
	found := c.images.list(func(i *image) bool {
		return (!q.Has("name") || q.Get("name") == i.name) && (!q.Has("status") || q.Get("status") == i.status) &&
			(!q.Has("visibility") || q.Get("visibility") == i.visibility) && (!q.Has("os_hash_value") || q.Get("os_hash_value") == i.sha512)
	})
	slices.Reverse(found) // Glance lists the newest first
	views := listOf(found, func(i *image) object { return i.view(c) })
	page, next := paginate(views, r, "/v2/images")
	body := object{"images": page, "first": "/v2/images", "schema": "/v2/schemas/images"}
	if next != nil {
		body["next"] = next[0]["href"]
	}
	return ok(body)
}

func (c *Cloud) createImage(w http.ResponseWriter, r *http.Request) (*reply, error) {
	body, err := decode(w, r)
	if err != nil {
		return nil, glanceFailure(http.StatusBadRequest, "Malformed JSON in request body.")
	}
	if id := text(body, "id"); id != "" {
		if _, taken := c.images.get(id); taken || c.deleted[id] {
			return nil, glanceFailure(http.StatusConflict, "Image ID "+id+" already exists!")
		}
	}
	i := c.addImage(text(body, "name"))
	if id := text(body, "id"); id != "" {
		c.images.drop(i.id)
		i.id = id
		c.images.put(id, i)
	}
	i.properties = object{}
	for key, value := range body {
		switch key {
		case "id", "name":
		case "disk_format":
			i.diskFormat = value
		case "container_format":
			i.containerFormat = value
		case "visibility":
			i.visibility, _ = value.(string)
		case "min_disk":
			i.minDiskGiB, _ = value.(int)
		case "min_ram":
			i.minRAMMiB, _ = value.(int)
		case "protected":
			i.protected, _ = value.(bool)
		case "os_hidden":
			i.hidden, _ = value.(bool)
		case "tags":
			i.tags, _ = value.([]any)
		default:
			i.properties[key] = value
		}
	}
	return &reply{status: http.StatusCreated, body: i.view(c), location: c.baseURL(r) + imagePrefix + "/v2/images/" + i.id}, nil
}

// uploadImage reads the content without the lock, since it may be long.
func (c *Cloud) uploadImage(w http.ResponseWriter, r *http.Request) {
	c.faults.count(&c.mu, r.Pattern)
	rep, err := c.locked(func(http.ResponseWriter, *http.Request) (*reply, error) {
		if !c.tokenValid(r.Header.Get("X-Auth-Token")) {
			return nil, c.unauthorizedPage(r)
		}
		i, ok := c.images.get(r.PathValue("id"))
		if !ok {
			return nil, imageNotFound(r.PathValue("id"))
		}
		if i.status != "queued" {
			return nil, glanceFailure(http.StatusConflict, "Image status transition from "+i.status+" to saving is not allowed")
		}
		i.status = "saving"
		return &reply{status: http.StatusNoContent}, nil
	}, w, r)
	if err == nil {
		var filled image
		fillErr := filled.fill(r.Body)
		rep, err = c.locked(func(http.ResponseWriter, *http.Request) (*reply, error) {
			i, ok := c.images.get(r.PathValue("id"))
			switch {
			case !ok:
				return nil, glanceFailure(http.StatusGone, "Image "+r.PathValue("id")+" could not be found after upload. "+
					"The image may have been deleted during the upload.")
			case fillErr != nil:
				i.status = "queued"
				return nil, glanceFailure(http.StatusBadRequest, "Error in store configuration or the upload was interrupted")
			}
			i.size, i.checksum, i.sha512, i.content, i.status, i.updated = filled.size, filled.checksum, filled.sha512, filled.content, "active", time.Now()
			return rep, nil
		}, w, r)
	}
	c.answer(w, r, rep, err)
}

func (c *Cloud) deleteImage(i *image) (*reply, error) {
	if i.protected {
		return nil, glanceFailure(http.StatusForbidden, "Image "+i.id+" is protected and cannot be deleted.")
	}
	c.images.drop(i.id)
	c.deleted[i.id] = true
	return &reply{status: http.StatusNoContent}, nil
}

// importImage knows the method web-download.
func (c *Cloud) importImage(w http.ResponseWriter, r *http.Request) (*reply, error) {
	i, found := c.images.get(r.PathValue("id"))
	if !found {
		return nil, imageNotFound(r.PathValue("id"))
	}
	body, err := decode(w, r)
	method := child(body, "method")
	switch name := text(method, "name"); {
	case err != nil || name != "web-download":
		return nil, glanceFailure(http.StatusBadRequest, "Unknown import method name '"+name+"'.")
	case !slices.Contains(c.opts.ImportMethods, name):
		return nil, glanceFailure(http.StatusBadRequest, "'"+name+"' is not in the list of enabled import methods")
	case i.status != "queued":
		return nil, glanceFailure(http.StatusConflict, "Image is being operated on by another task")
	}
	i.status = "importing"
	var filled image
	var failed error
	c.outside(func(ctx context.Context) { failed = filled.download(ctx, text(method, "uri")) }, func() {
		if failed != nil {
			i.status, i.updated = "queued", time.Now()
			c.log.Warn("an image could not be imported", "error", failed)
			return
		}
		i.size, i.checksum, i.sha512, i.content, i.status, i.updated = filled.size, filled.checksum, filled.sha512, filled.content, "active", time.Now()
	})
	return &reply{status: http.StatusAccepted}, nil
}

func (i *image) download(ctx context.Context, uri string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", uri, response.Status)
	}
	return i.fill(response.Body)
}

// SetImageProtected makes an image one that cannot be deleted, or ends that. It reports whether there is one.
func (c *Cloud) SetImageProtected(id string, protected bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, found := c.images.get(id)
	if found {
		i.protected = protected
	}
	return found
}

// DeleteImage deletes an image behind everybody's back. It reports whether there was one.
func (c *Cloud) DeleteImage(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, found := c.images.get(id)
	if found {
		c.images.drop(i.id)
		c.deleted[i.id] = true
	}
	return found
}

func (c *Cloud) onImage(h func(*image) (*reply, error)) handler {
	return func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		i, ok := c.images.get(r.PathValue("id"))
		if !ok {
			return nil, imageNotFound(r.PathValue("id"))
		}
		return h(i)
	}
}

func (i *image) view(c *Cloud) object {
	o := object{
		"name": i.name, "disk_format": i.diskFormat, "container_format": i.containerFormat, "visibility": i.visibility, "size": nil, "virtual_size": nil,
		"status": i.status, "checksum": orNil(i.checksum), "protected": i.protected, "min_ram": i.minRAMMiB, "min_disk": i.minDiskGiB,
		"owner": c.account.ProjectID, "os_hidden": i.hidden, "os_hash_algo": nil, "os_hash_value": orNil(i.sha512), "id": i.id,
		"created_at": stamp(i.created), "updated_at": stamp(i.updated), "tags": i.tags, "self": "/v2/images/" + i.id,
		"file": "/v2/images/" + i.id + "/file", "schema": "/v2/schemas/image",
	}
	if i.tags == nil {
		o["tags"] = []any{}
	}
	if i.status == "active" {
		o["size"], o["virtual_size"], o["os_hash_algo"], o["stores"] = i.size, i.size, "sha512", "files"
	}
	for k, v := range i.properties {
		o[k] = v
	}
	return o
}

func imageNotFound(id string) error {
	return glanceFailure(http.StatusNotFound, "No image found with ID "+id)
}

func glanceFailure(status int, message string) error {
	return &failure{status: status, message: message, body: page(message + "<br /><br />\n\n\n")}
}
