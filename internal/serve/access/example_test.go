package access_test

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

func ExampleIdentity_May() {
	ci := access.Identity{Name: "ci", Role: access.Operator, Source: access.ByToken, Token: "1f0e"}
	fmt.Println(ci.May(access.Reader))
	fmt.Println(ci.May(access.Admin))
	fmt.Println(access.Identity{}.May(access.Reader))
	// Output:
	// <nil>
	// "ci" has the role operator, and this needs admin: use a token of that role, or ask an admin
	// this needs the role reader: send a token: Authorization: Bearer kal_...
}
