package replica

import (
	"reflect"
	"testing"

	"github.com/quorate/quorate/scheduler"
)

// An event that the scheduler learns to tell must reach every observer.
func TestObserversHearEverything(t *testing.T) {
	t.Parallel()
	heard := map[string]int{}
	var each scheduler.Observer
	fields := reflect.ValueOf(&each).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		fields.Field(i).Set(reflect.MakeFunc(fields.Field(i).Type(), func([]reflect.Value) []reflect.Value {
			heard[name]++
			return nil
		}))
	}
	all := reflect.ValueOf(observers(each, scheduler.Observer{}, each))
	for i := range all.NumField() {
		name, event := all.Type().Field(i).Name, all.Field(i)
		if event.IsNil() {
			t.Errorf("nobody hears of %s", name)
			continue
		}
		var args []reflect.Value
		for in := range event.Type().Ins() {
			args = append(args, reflect.Zero(in))
		}
		if event.Call(args); heard[name] != 2 {
			t.Errorf("%d of 2 observers heard of %s", heard[name], name)
		}
	}
}
