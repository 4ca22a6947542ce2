package backend_test

import (
	"testing"

	"openclaw/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
