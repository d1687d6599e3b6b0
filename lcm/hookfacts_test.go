package lcm_test

import (
	"strings"
	"testing"

	"vnfm/lcm"
	"vnfm/lcm/grant/granttest"
	"vnfm/mgmtdriver"
)

func TestDriversLearnWhereServersAre(t *testing.T) {
	t.Parallel()
	b, driver, instance := setupHooked(t)
	nfvo := granttest.Start(t)
	nfvo.Fill(func(request *lcm.GrantRequest, g *lcm.Grant) {
		g.Zones = []lcm.ZoneInfo{{ID: "z1", ZoneID: "nova"}}
		for i, definition := range request.AddResources {
			if definition.VduID == "worker" && definition.Type == lcm.ResourceCompute {
				g.AddResources[i].ZoneID = "z1"
			}
		}
	})
	b.expect(b.do(nfvo, instance, b.manager.Instantiate, string(b.request())), lcm.StateCompleted)
	for _, vnfc := range driver.seen[mgmtdriver.InstantiateEnd].After {
		aspect, zone := "worker_group", "nova"
		if vnfc.VduID == "controller" {
			aspect, zone = "", ""
		}
		if vnfc.AspectID != aspect || vnfc.GrantedZone != zone || vnfc.Zone != "nova" || !strings.HasPrefix(vnfc.Host, "compute0") || vnfc.AntiAffinity {
			t.Errorf("the driver is told of %+v", vnfc)
		}
	}
}
