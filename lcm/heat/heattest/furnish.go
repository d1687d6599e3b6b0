package heattest

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// furnish makes what is there from the beginning.
func (c *Cloud) furnish() error {
	c.fillDefaults()
	for _, n := range c.opts.Networks {
		if !n.CIDR.IsValid() || !n.CIDR.Addr().Is4() || n.CIDR.Bits() > 29 {
			return fmt.Errorf("network %s: %s is not an IPv4 network with room for hosts", n.Name, n.CIDR)
		}
		made := c.addNetwork(n.Name, n.External)
		s := c.addSubnet(made, subnetName(n.Name), n.CIDR, n.CIDR.Masked().Addr().Next())
		c.builtin[made.id], c.builtin[s.id] = true, true
	}
	for i, f := range c.opts.Flavors {
		made := &flavor{id: strconv.Itoa(i + 1), name: f.Name, vcpus: f.VCPUs, ramMiB: f.RAMMiB, diskGiB: f.DiskGiB, public: true, rxtx: 1}
		for key, value := range f.ExtraSpecs {
			made.extra = orEmpty(made.extra)
			made.extra[key] = value
		}
		c.nova.flavors.put(made.id, made)
		c.builtin[made.id] = true
	}
	for _, i := range c.opts.Images {
		made := c.addImage(i.Name)
		content := i.Content
		if content == nil {
			content = make([]byte, 1024)
		}
		if err := made.fill(bytes.NewReader(content)); err != nil {
			return fmt.Errorf("image %s: %w", i.Name, err)
		}
		made.diskFormat, made.containerFormat, made.visibility = "raw", "bare", "public"
		c.builtin[made.id] = true
	}
	c.nova.keys = c.opts.KeyPairs
	c.cinder.types = []volumeType{{newID(), "__DEFAULT__"}}
	return nil
}

func (c *Cloud) fillDefaults() {
	if c.opts.Networks == nil {
		cidrs := []string{"10.10.0.0/24", "10.10.1.0/24", "192.168.120.0/24", "203.0.113.0/24"}
		if c.opts.VMs != nil { // addresses that this computer can listen on
			cidrs = []string{"127.10.0.0/16", "127.11.0.0/16", "127.120.0.0/16", "127.203.0.0/16"}
		}
		for i, name := range []string{"net0", "net1", "net_mgmt", "public"} {
			c.opts.Networks = append(c.opts.Networks, Network{Name: name, CIDR: netip.MustParsePrefix(cidrs[i]), External: name == "public"})
		}
	}
	if c.opts.Flavors == nil {
		c.opts.Flavors = []Flavor{
			{Name: "m1.tiny", VCPUs: 1, RAMMiB: 512, DiskGiB: 1}, {Name: "m1.small", VCPUs: 1, RAMMiB: 2048, DiskGiB: 20},
			{Name: "m1.medium", VCPUs: 2, RAMMiB: 4096, DiskGiB: 40}, {Name: "m1.large", VCPUs: 4, RAMMiB: 8192, DiskGiB: 80},
		}
	}
	if c.opts.Images == nil {
		c.opts.Images = []Image{{Name: "cirros-0.5.2-x86_64-disk"}, {Name: "ubuntu"}}
	}
	if c.opts.ImportMethods == nil {
		c.opts.ImportMethods = []string{"glance-direct", "web-download"}
	}
	if c.opts.Hosts == nil {
		c.opts.Hosts = []string{"compute01", "compute02", "compute03"}
	}
}

// subnetName is net0 → subnet0, net_mgmt → subnet_mgmt, public → public-subnet.
func subnetName(network string) string {
	if rest, ok := strings.CutPrefix(network, "net"); ok {
		return "subnet" + rest
	}
	return network + "-subnet"
}

// NetworkID is the id of a network by name, empty when there is none; so are the next four.
func (c *Cloud) NetworkID(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.findNetwork(name); n != nil {
		return n.id
	}
	return ""
}

// SubnetID is the id of the first subnet of the named network.
func (c *Cloud) SubnetID(network string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.findNetwork(network); n != nil {
		if s := first(c.subnetsOf(n)); s != nil {
			return s.id
		}
	}
	return ""
}

// CIDR is the range of the first subnet of the named network; the zero prefix when there is none.
func (c *Cloud) CIDR(network string) netip.Prefix {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.findNetwork(network); n != nil {
		if s := first(c.subnetsOf(n)); s != nil {
			return s.cidr
		}
	}
	return netip.Prefix{}
}

// ImageID is the id of the image with this name; empty also when there are several.
func (c *Cloud) ImageID(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, err := c.findImage(name); err == nil {
		return i.id
	}
	return ""
}

// FlavorID is the id of the flavor with this name.
func (c *Cloud) FlavorID(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.findFlavor(name); f != nil {
		return f.id
	}
	return ""
}
