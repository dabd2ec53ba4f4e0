package config

import "reflect"

// shown returns the settings in effect of a job, in a form that JSON can write,
// without secrets. What is off, as it is in a job that says nothing, is left out. Jobs
// with the same hash have the same settings.
func (b *builder) shown(name string) any {
	job, silent := b.cfg.Jobs[name], JobConfig{JobPolicy: DefaultPolicy()}
	job.Timezone = b.timezone(job)
	all := lean(showJob(job), showJob(silent))
	if len(job.Exclude) > 0 {
		days := map[string]any{}
		for _, name := range job.Exclude {
			days[name] = b.shownCalendar(name)
		}
		all["calendars"] = days
	}
	return all
}

func showJob(job JobConfig) map[string]any {
	return show(reflect.ValueOf(job), "", false).(map[string]any)
}

// shownCalendar is a calendar as it was written and, since files change, a hash of what
// it holds.
func (b *builder) shownCalendar(name string) any {
	cfg := b.cfg.Calendars[name]
	all := lean(show(reflect.ValueOf(cfg), "", false).(map[string]any), show(reflect.ValueOf(CalendarConfig{}), "", false).(map[string]any))
	if cfg.ICS != "" {
		all["content"] = contentHash(b.calendars[name])
	}
	return all
}

// lean returns what is shown without what is off in it and in silent.
func lean(shown, silent map[string]any) map[string]any {
	kept := map[string]any{}
	for key, v := range shown {
		usual, known := silent[key]
		nested, isMap := v.(map[string]any)
		base, both := usual.(map[string]any)
		switch {
		case known && isMap && both && len(base) > 0:
			if nested = lean(nested, base); len(nested) > 0 {
				kept[key] = nested
			}
		case !known || !off(v) || !reflect.DeepEqual(v, usual):
			kept[key] = v
		}
	}
	return kept
}

// off reports whether a value that is shown stands for nothing.
func off(v any) bool {
	switch v := v.(type) {
	case string:
		return v == "" || v == short(0)
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil || reflect.ValueOf(v).IsZero()
}
