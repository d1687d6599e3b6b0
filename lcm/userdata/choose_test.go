package userdata_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"vnfm/lcm"
	"vnfm/lcm/userdata"
	"vnfm/samples"
	"vnfm/vnfpkg"
)

// changed is a copy of a source tree with some files replaced or added.
func changed(t *testing.T, tree fs.FS, files map[string]string) fstest.MapFS {
	t.Helper()
	result := fstest.MapFS{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		result[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		result[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return result
}

func csar(t *testing.T, tree fs.FS) *vnfpkg.CSAR {
	t.Helper()
	var archive bytes.Buffer
	if err := vnfpkg.BuildFS(t.Context(), tree, &archive); err != nil {
		t.Fatal(err)
	}
	opened, err := vnfpkg.OpenCSAR(bytes.NewReader(archive.Bytes()), int64(archive.Len()), vnfpkg.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func named(file, class string) map[string]any {
	return map[string]any{userdata.FileAttribute: file, userdata.ClassAttribute: class}
}

// usual is a class that puts the parameters together as nearly all packages do.
const usual = `import tacker.vnfm.lcm_user_data.utils as UserDataUtil
from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData


class Usual(AbstractUserData):
    @staticmethod
    def instantiate(base_hot_dict=None, vnfd_dict=None, inst_req_info=None, grant_info=None):
        initial = UserDataUtil.create_initial_param_server_port_dict(base_hot_dict)
        final = UserDataUtil.create_final_param_dict(
            initial, UserDataUtil.create_vdu_flavor_capability_name_dict(vnfd_dict), UserDataUtil.create_sw_image_dict(vnfd_dict),
            UserDataUtil.create_network_dict(inst_req_info, initial))
        return {**final, **UserDataUtil.get_diff_base_hot_param_from_api(base_hot_dict, inst_req_info)}
`

func TestClassesAreKnownByTheirSource(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../samples/two-vdu/UserData/user_data.py")
	if err != nil {
		t.Fatal(err)
	}
	sample := string(source)
	pkg := csar(t, changed(t, samples.TwoVdu(), map[string]string{
		"UserData/commented.py": "# A licence.\r\n\n" + strings.ReplaceAll(sample, "\n", "  \n\n") + "    # the end\n",
		"UserData/other.py":     strings.Replace(sample, "{'VDU': vdus, 'CP': cps}", "{'VDU': vdus, 'CP': {}}", 1),
		"UserData/indented.py":  strings.Replace(sample, "        return {'nfv'", "            return {'nfv'", 1),
		"UserData/renamed.py":   strings.Replace(sample, "class SampleUserData", "class Renamed", 1),
	}))
	for _, row := range []struct {
		name   string
		params map[string]any
		native bool
	}{
		{"none is named", nil, true},
		{"the sample", named("./UserData/user_data.py", "SampleUserData"), true},
		{"the sample under its plain path", named("UserData/user_data.py", "SampleUserData"), true},
		{"other comments, empty lines and ends of lines", named("UserData/commented.py", "SampleUserData"), true},
		{"a class of the same name that does something else", named("./UserData/other.py", "SampleUserData"), false},
		{"another indentation", named("./UserData/indented.py", "SampleUserData"), false},
		{"another class", named("./UserData/renamed.py", "Renamed"), false},
		{"another class of a known file", named("./UserData/user_data.py", "AbstractUserData"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			choice, err := userdata.Choose(pkg, row.params)
			if err != nil || choice.Native() != row.native {
				t.Errorf("%+v, %v", choice, err)
			}
		})
	}
}

func TestUserDataThatCannotBeChosen(t *testing.T) {
	t.Parallel()
	const file, class = userdata.FileAttribute, userdata.ClassAttribute
	pkg := csar(t, changed(t, samples.TwoVdu(), map[string]string{
		"UserData/large.py": strings.Repeat("#\n", 1<<20), "UserData/v1.2/x.py": "", "UserData/text.txt": "",
	}))
	for _, row := range []struct {
		name            string
		params          map[string]any
		attribute, says string
	}{
		{"the file alone", map[string]any{file: "./UserData/user_data.py"}, class, file},
		{"the class alone", map[string]any{class: "SampleUserData"}, file, class},
		{"an empty class", named("./UserData/user_data.py", ""), class, "empty"},
		{"a class that is no string", map[string]any{file: "./UserData/user_data.py", class: 1}, class, "string"},
		{"a file that the package lacks", named("./UserData/none.py", "SampleUserData"), file, `no file "./UserData/none.py"`},
		{"a path out of the package", named("../UserData/user_data.py", "SampleUserData"), file, "can import"},
		{"a path that leads back", named("UserData/../UserData/user_data.py", "SampleUserData"), file, "can import"},
		{"an absolute path", named("/UserData/user_data.py", "SampleUserData"), file, "can import"},
		{"a folder with a dot", named("UserData/v1.2/x.py", "X"), file, "can import"},
		{"no Python", named("UserData/text.txt", "X"), file, ".py file"},
		{"a large file", named("UserData/large.py", "X"), file, "bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := userdata.Choose(pkg, row.params)
			var invalid *lcm.InvalidRequest
			if !errors.As(err, &invalid) || invalid.Attribute != "/additionalParams/"+row.attribute ||
				!strings.Contains(invalid.Detail, row.says) {
				t.Errorf("error %v, want one of %s that says %q", err, row.attribute, row.says)
			}
		})
	}
}
