package vnfpkg

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
)

// Describe reads and checks the whole package: metadata, hashes, the VNFD with its imports, and the Heat templates. What the
// author has to mend comes as *[Invalid], up to 20 of them joined; any other error is one of reading the archive or of ctx.
// Whoever has signed the package is trusted, see [Inspect].
func (c *CSAR) Describe(ctx context.Context) (*Description, error) { return c.describe(ctx, Trust{}) }

func (c *CSAR) describe(ctx context.Context, trust Trust) (*Description, error) {
	p := &problems{}
	found, err := c.layout(p)
	if err != nil {
		return nil, errors.Join(p.err(), err)
	}
	c.verifyManifest(found, trust, p)
	artifacts, err := c.verify(ctx, found.blocks, p)
	if err != nil {
		return nil, err
	}
	service, err := c.load(ctx, found.entry, p)
	if service == nil {
		return nil, errors.Join(p.err(), err)
	}
	d := &Description{Vnfd: &Vnfd{Flavours: map[string]*Flavour{}}}
	if found.meta != "" {
		d.VnfdFiles = append(d.VnfdFiles, found.meta)
	}
	d.VnfdFiles = append(d.VnfdFiles, service.names()...)
	d.Artifacts = slices.DeleteFunc(artifacts, func(a Artifact) bool {
		return isImage(a.Path) || a.Path == found.manifest || a.Path == found.certificate || slices.Contains(d.VnfdFiles, a.Path)
	})
	c.describeVnfd(service, d, p)
	if err := c.checkBaseHOTs(ctx, d, p); err != nil {
		return nil, err
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// describeVnfd fills in what comes from the service template.
func (c *CSAR) describeVnfd(service *template, d *Description, p *problems) {
	topologies := c.topologies(service, p)
	for _, t := range topologies {
		t.check()
		id := t.flavourID()
		if id == "" {
			continue
		}
		if _, twice := d.Vnfd.Flavours[id]; twice {
			p.addf(t.body, "the flavour %q is described twice", id)
			continue
		}
		flavour := t.flavour(id)
		d.Vnfd.Flavours[id] = flavour
		d.addImages(flavour)
	}
	entry := service.documents[0]
	if len(d.Vnfd.Flavours) == 0 {
		p.addf(entry, "no deployment flavour: no topology has substitution_mappings with the property flavour_id")
	}
	describeVnf(topologies, entry, d, p)
}

// addImages lists the images of a flavour that come with the package.
func (d *Description) addImages(f *Flavour) {
	add := func(node string, image *Image) {
		if image != nil && image.Path != "" {
			d.SoftwareImages = append(d.SoftwareImages, SoftwareImage{ID: node, FlavourID: f.ID, Image: *image})
		}
	}
	for _, vdu := range f.Vdus {
		add(vdu.Name, vdu.Image)
	}
	for _, storage := range f.Storages {
		add(storage.Name, storage.Image)
	}
}

// describeVnf fills in the properties of the VNF: what its nodes say, that in the entry definition first, or else the defaults
// of their types.
func describeVnf(topologies []*topology, entry value, d *Description, p *problems) {
	vnfs := slices.DeleteFunc(slices.Clone(topologies), func(t *topology) bool { _, ok := t.vnf(); return !ok })
	if len(vnfs) == 0 {
		p.addf(entry, "no node template of type %s, or derived from it", typeVNF)
		return
	}
	property := func(name string) value {
		for _, read := range []func(*topology, node, ...string) value{(*topology).given, (*topology).property} {
			for _, t := range vnfs {
				n, _ := t.vnf()
				if v := read(t, n, name); v.given() {
					return v
				}
			}
		}
		return value{}
	}
	mandatory := func(name string) []string {
		texts := property(name).texts()
		if len(texts) == 0 || texts[0] == "" {
			n, _ := vnfs[0].vnf()
			p.addf(n.value, "the property %s of the VNF is mandatory and has no value", name)
		}
		return texts
	}
	d.VnfdID = first(mandatory("descriptor_id"))
	d.Provider = first(mandatory("provider"))
	d.ProductName = first(mandatory("product_name"))
	d.SoftwareVersion = first(mandatory("software_version"))
	d.DescriptorVersion = first(mandatory("descriptor_version"))
	d.VnfmInfo = mandatory("vnfm_info")
	for _, flavour := range d.Vnfd.Flavours {
		if flavour.Description == "" {
			flavour.Description = property("flavour_description").text()
		}
	}
}

// checkBaseHOTs reads the Heat templates of all flavours, so that broken ones are found now and not when a VNF is made.
func (c *CSAR) checkBaseHOTs(ctx context.Context, d *Description, p *problems) error {
	for _, id := range slices.Sorted(maps.Keys(d.Vnfd.Flavours)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		hot, err := c.BaseHOT(id)
		if errors.Is(err, ErrNoBaseHOT) {
			continue
		}
		if err != nil {
			if !p.accepts(err) {
				return err
			}
			continue
		}
		root := path.Join("BaseHOT", id)
		budget := &yamlBudget{nodes: c.limits.DocumentNodes, depth: c.limits.DocumentDepth}
		check := func(name string, data []byte) {
			parsed, err := parseYAML(name, data, budget)
			if err == nil && !parsed.at("heat_template_version").given() {
				err = orRoot(parsed, value{file: name}).invalid("not a Heat template: heat_template_version is missing")
			}
			p.add(err)
		}
		check(path.Join(root, hot.TopName), hot.Top)
		for name, data := range hot.Files {
			check(path.Join(root, "nested", name), data)
		}
	}
	return nil
}
