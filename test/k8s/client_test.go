package k8s

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// client speaks the Kubernetes API as far as the tests need it.
type client struct {
	server, token string
	http          *http.Client
}

func newClient(server, token string) *client {
	return &client{server, token, &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // made for this run, on loopback
	}}}
}

// call sends a request and decodes the answer into result, which may be nil. Warnings of the server are returned.
func (c *client) call(method, path, contentType string, body []byte, result any) ([]string, error) {
	request, err := http.NewRequest(method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	if result != nil {
		err = json.Unmarshal(answer, result)
	}
	return response.Header.Values("Warning"), err
}

func (c *client) get(path string, result any) error {
	_, err := c.call(http.MethodGet, path, "application/json", nil, result)
	return err
}

func (c *client) post(path string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = c.call(http.MethodPost, path, "application/json", body, nil)
	return err
}

func (c *client) merge(path string, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.call(http.MethodPatch, path, "application/merge-patch+json", body, nil)
	return err
}

// head is what says where an object belongs.
type head struct {
	APIVersion string      `yaml:"apiVersion"`
	Kind       string      `yaml:"kind"`
	Metadata   headName    `yaml:"metadata"`
	Items      []yaml.Node `yaml:"items"`
}

type headName struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace"`
}

// apply applies a document on the server's side; unknown fields and fields that are there twice are errors.
func (c *client) apply(namespace string, document []byte) ([]string, error) {
	var object head
	if err := yaml.Unmarshal(document, &object); err != nil {
		return nil, err
	}
	if len(object.Items) > 0 {
		return c.applyItems(namespace, object.Items)
	}
	if object.Kind == "" {
		return nil, nil
	}
	if object.Metadata.Namespace != "" {
		namespace = object.Metadata.Namespace
	}
	query := url.Values{"fieldManager": {"test"}, "fieldValidation": {"Strict"}, "force": {"true"}}
	path := collection(object, namespace) + "/" + object.Metadata.Name + "?" + query.Encode()
	return c.call(http.MethodPatch, path, "application/apply-patch+yaml", document, nil)
}

func (c *client) applyItems(namespace string, items []yaml.Node) ([]string, error) {
	var warnings []string
	for i := range items {
		document, err := yaml.Marshal(&items[i])
		if err != nil {
			return nil, err
		}
		more, err := c.apply(namespace, document)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, more...)
	}
	return warnings, nil
}

// collection is the path of all objects of a kind in a namespace.
func collection(object head, namespace string) string {
	plural := strings.ToLower(object.Kind) + "s"
	if strings.HasSuffix(plural, "ys") {
		plural = strings.TrimSuffix(plural, "ys") + "ies"
	}
	base := "/apis/" + object.APIVersion
	if !strings.Contains(object.APIVersion, "/") {
		base = "/api/" + object.APIVersion
	}
	return base + "/namespaces/" + namespace + "/" + plural
}
