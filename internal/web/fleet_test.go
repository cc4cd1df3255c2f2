package web_test

import "testing"

func TestFleetWithoutEnvironmentsSaysWhatToDo(t *testing.T) {
	p := newWorld(t).see("/")
	p.wants(".empty", "No environments are known yet")
	p.wants(".empty code", "kalypso init control-plane fleet")
}
