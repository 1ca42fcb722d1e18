// Package charts tests the charts of this repository: rendered with Helm as a library, decoded into the API's own types. It
// is a module of its own, so that the product does not depend on Helm.
package charts
