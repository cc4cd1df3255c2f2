package values_test

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/chart/values"
)

func Example() {
	files := map[string]string{
		"values.yaml":                    "replicas: 1\nlogging: {level: info}\n",
		"eu/functional-test/values.yaml": "logging: {level: debug}\n",
	}
	target := values.Folders([]string{"values.yaml", "eu/functional-test/values.yaml"})[0]

	var layers []*values.Layer
	for _, file := range target.Files {
		layer, problems := values.Parse("dev", file, []byte(files[file]))
		if len(problems) > 0 {
			fmt.Println(problems)
			return
		}
		layers = append(layers, layer)
	}
	image, err := values.Set("the build", map[string]string{"image.tag": "1.4.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	composed := values.Compose(append(layers, image), nil)
	fmt.Println("target:", target.Name())
	for _, key := range composed.Keys {
		fmt.Println(key.Path, "=", key.Value, "from", key.From.Source+":"+key.From.String())
	}
	// Output:
	// target: functional-test
	// image.tag = 1.4.0 from the build:
	// logging.level = debug from dev:eu/functional-test/values.yaml:1
	// replicas = 1 from dev:values.yaml:1
}
