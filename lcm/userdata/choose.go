package userdata

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"vnfm/lcm"
	"vnfm/lcm/userdata/python"
	"vnfm/vnfpkg"
)

// Attributes of additionalParams that choose the user data of a package.
const (
	FileAttribute  = "lcm-operation-user-data"
	ClassAttribute = "lcm-operation-user-data-class"
)

// Choice is the user data that a request chooses. The zero value stands for what [Compute] does.
type Choice struct {
	File  string // path in the package
	Class string
}

// Native reports whether [Compute] does what the class does.
func (c Choice) Native() bool { return c.Class == "" }

// Choose returns the user data that a request names; *[lcm.InvalidRequest] if it is half named, or not in the package.
//
// A class is known by its source and not by its name: SampleUserData is the name of nearly every class there is, whatever it does. So
// nothing but a file that says, comments and empty lines aside, what one of those says whose effect [Compute] has, is replaced.
func Choose(pkg *vnfpkg.CSAR, additionalParams map[string]any) (Choice, error) {
	file, class, err := Named(additionalParams)
	if err != nil || class == "" {
		return Choice{}, err
	}
	wrong := func(detail string) (Choice, error) {
		return Choice{}, &lcm.InvalidRequest{Attribute: "/additionalParams/" + FileAttribute, Detail: detail}
	}
	if _, err := python.Module(file); err != nil {
		return wrong(err.Error())
	}
	source, err := pkg.ReadFile(file, maxSourceBytes)
	var invalid *vnfpkg.Invalid
	switch {
	case errors.Is(err, vnfpkg.ErrNotFound):
		return wrong(fmt.Sprintf("the VNF package has no file %q", file))
	case errors.As(err, &invalid):
		return wrong(err.Error())
	case err != nil:
		return Choice{}, err
	case known[digest(string(source))] == class:
		return Choice{}, nil
	}
	return Choice{File: file, Class: class}, nil
}

const maxSourceBytes = 1 << 20

// Named returns the file and the class that a request names, "" if it names none.
func Named(additionalParams map[string]any) (file, class string, err error) {
	givenFile, hasFile := additionalParams[FileAttribute]
	givenClass, hasClass := additionalParams[ClassAttribute]
	if !hasFile && !hasClass {
		return "", "", nil
	}
	file, _ = givenFile.(string)
	class, _ = givenClass.(string)
	for _, attribute := range []struct{ name, value string }{{FileAttribute, file}, {ClassAttribute, class}} {
		if attribute.value == "" {
			return "", "", &lcm.InvalidRequest{Attribute: "/additionalParams/" + attribute.name, Detail: fmt.Sprintf(
				"must be a string that is not empty: %s and %s go together", FileAttribute, ClassAttribute)}
		}
	}
	return file, class, nil
}

// known are the files whose class does what [Compute] does, by their digest. All of the first three put the parameters together by the
// same calls of tacker.vnfm.lcm_user_data.utils.
var known = map[string]string{
	// sample packages of OpenStack Tacker: Kubernetes cluster and free5GC on it
	"8d3ba284ed2df6e2243e2033e43a7a96db568c554b38a3c186023d906be6e40d": "KubernetesClusterUserData",
	// Kubespray cluster, free5GC and most others
	"c7df9e483b1e0273264200de802817347b38f58af90132dc79a0ea41ed59bc6c": "SampleUserData",
	// Ansible management driver
	"97ee46c4eab05998734087a2c816fa01f0310ed88e11a699020255e41d0098bf": "SampleUserData",
	// samples/two-vdu of this project
	"2095a01ac41664dc084f6211e71888f43c15eacea592480f7ed3ff8a599507eb": "SampleUserData",
	// samples/kubernetes of this project
	"b24a2cac3903a83b53d294855a6f8663261788f4e6990679702a7229799dfd99": "KubernetesClusterUserData",
}

// digest is the SHA-256 of a source without comment lines, empty lines and white space at the end of lines: licence headers come in
// many versions.
func digest(source string) string {
	hash := sha256.New()
	for line := range strings.Lines(source) {
		line = strings.TrimRight(line, " \t\r\n")
		if text := strings.TrimLeft(line, " \t"); text != "" && text[0] != '#' {
			hash.Write([]byte(line + "\n"))
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}
