package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/api"
	"vnfm/lcm"
)

const (
	instancesPath = lcm.InstancesPath
	opOccsPath    = lcm.OperationsPath
)

// id reads the id of a path. What is not a UUID cannot exist.
func id(c echo.Context, name, resource string) (uuid.UUID, error) {
	parsed, err := uuid.Parse(c.Param(name))
	if err != nil {
		return uuid.Nil, &lcm.NotFound{Resource: resource, ID: c.Param(name)}
	}
	return parsed, nil
}

func instanceID(c echo.Context) (uuid.UUID, error) { return id(c, "vnfInstanceId", "vnf instance") }

// vnfInstance is the wire form of an instance.
func vnfInstance(instance *lcm.VnfInstance) api.VnfInstance {
	self := instancesPath + instance.ID.String()
	shown := api.VnfInstance{
		ID:                        instance.ID.String(),
		VnfInstanceName:           instance.Name,
		VnfInstanceDescription:    instance.Description,
		VnfdID:                    instance.VnfdID,
		VnfProvider:               instance.Provider,
		VnfProductName:            instance.ProductName,
		VnfSoftwareVersion:        instance.SoftwareVersion,
		VnfdVersion:               instance.VnfdVersion,
		VnfPkgID:                  instance.VnfPkgID.String(),
		InstantiationState:        api.VnfInstanceInstantiationState(instance.InstantiationState),
		Metadata:                  instance.Metadata,
		Extensions:                instance.Extensions,
		VnfConfigurableProperties: instance.VnfConfigurableProperties,
		UnderscoreLinks:           api.VnfInstanceLinks{Self: api.Link{Href: self}},
	}
	if instance.VimConnectionInfo != nil {
		shown.VimConnectionInfo = instance.VimConnectionInfo
	}
	if instance.InstantiatedVnfInfo != nil {
		shown.InstantiatedVnfInfo = instance.InstantiatedVnfInfo
	}
	links := &shown.UnderscoreLinks
	if instance.InstantiationState == lcm.Instantiated {
		links.Operate = api.Link{Href: self + "/operate"}
		links.Heal = api.Link{Href: self + "/heal"}
		links.ChangeFlavour = api.Link{Href: self + "/change_flavour"}
		links.ChangeExtConn = api.Link{Href: self + "/change_ext_conn"}
		if instance.InstantiatedVnfInfo == nil || len(instance.InstantiatedVnfInfo.ScaleStatus) > 0 {
			links.Scale = api.Link{Href: self + "/scale"}
			links.ScaleToLevel = api.Link{Href: self + "/scale_to_level"}
		}
	} else {
		links.Instantiate = api.Link{Href: self + "/instantiate"}
	}
	if instance.InstantiationState == lcm.Instantiated || instance.Deployed {
		links.Terminate = api.Link{Href: self + "/terminate"}
	}
	return shown
}

func (s *Server) createInstance(c echo.Context) error {
	var request lcm.CreateRequest
	if err := json.Unmarshal(body(c), &request); err != nil {
		return badRequest(err.Error())
	}
	instance, err := s.config.Instances.CreateInstance(c.Request().Context(), request)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, instancesPath+instance.ID.String())
	return c.JSON(http.StatusCreated, vnfInstance(instance))
}

func (s *Server) listInstances(c echo.Context) error {
	asked, err := s.ask(c, s.instances)
	if err != nil {
		return err
	}
	instances, more, err := s.config.Instances.Instances(c.Request().Context(), asked.page())
	if err != nil {
		return err
	}
	return answerList(c, asked, instances, vnfInstance, more,
		func(last *lcm.VnfInstance) cursor { return cursor{last.CreatedAt.UnixMicro(), last.ID} })
}

func (s *Server) showInstance(c echo.Context) error {
	id, err := instanceID(c)
	if err != nil {
		return err
	}
	instance, err := s.config.Instances.Instance(c.Request().Context(), id)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", entityTag(instance.Version))
	return c.JSON(http.StatusOK, vnfInstance(instance))
}

func (s *Server) deleteInstance(c echo.Context) error {
	id, err := instanceID(c)
	if err != nil {
		return err
	}
	if err := s.config.Instances.DeleteInstance(c.Request().Context(), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// modifyInstance starts to modify an instance, if it still is as the client knows it.
func (s *Server) modifyInstance(c echo.Context) error {
	id, err := instanceID(c)
	if err != nil {
		return err
	}
	versions, err := versionsRequired(c)
	if err != nil {
		return err
	}
	operation, err := s.config.Operations.Modify(c.Request().Context(), id, body(c), versions)
	if err != nil {
		return err
	}
	return underWay(c, operation.ID)
}

// start is the handler of a task resource: it starts an operation.
func (s *Server) start(operate func(context.Context, uuid.UUID, json.RawMessage) (*lcm.Operation, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := instanceID(c)
		if err != nil {
			return err
		}
		operation, err := operate(c.Request().Context(), id, body(c))
		if err != nil {
			return err
		}
		return underWay(c, operation.ID)
	}
}
