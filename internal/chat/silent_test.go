package chat

import (
	"strings"
	"testing"
)

// RT-080, P10.
func TestIsSilent(t *testing.T) {
	silent := []string{
		"NO_REPLY", " NO_REPLY ", "NO_REPLY.", "NO_REPLY!", "NO_REPLY\n", "\nNO_REPLY", "NO_REPLY: nothing to add",
		"NO_REPLY - idle", "**NO_REPLY**", "`NO_REPLY`", "\"NO_REPLY\"", "'NO_REPLY'", "(NO_REPLY)", "[NO_REPLY]",
		"*NO_REPLY*", "__NO_REPLY__", "_NO_REPLY_", "~~NO_REPLY~~", "> NO_REPLY", "# NO_REPLY", "- NO_REPLY",
		"```\nNO_REPLY\n```", "NO\\_REPLY", "**NO\\_REPLY**", "no_reply", "No_Reply", "no_reply.", "**no_reply**",
		"`no_reply`", "_no_reply_", "No_reply!", "nothing to say. NO_REPLY", "ok\n\nNO_REPLY", "done (NO_REPLY)",
		"…NO_REPLY…", "“NO_REPLY”", "NO_REPLY NO_REPLY", "<NO_REPLY>", "{NO_REPLY}", "NO_REPLY\u200b",
	}
	for _, text := range silent {
		if !IsSilent(text) {
			t.Errorf("IsSilent(%q) = false, want true", text)
		}
		if got := StripSilent(text); got != "" {
			t.Errorf("StripSilent(%q) = %q, want nothing", text, got)
		}
	}
	loud := []string{
		"", "  ", "no reply", "No reply.", "the NO_REPLY token means silence", "XNO_REPLY", "NO_REPLYS are fine",
		"please answer no_reply when idle", "NO_REPLY_LATER", "write `NO_REPLY` to stay silent",
	}
	for _, text := range loud {
		if IsSilent(text) {
			t.Errorf("IsSilent(%q) = true, want false", text)
		}
		if got := StripSilent(text); got != text {
			t.Errorf("StripSilent(%q) = %q, want it unchanged", text, got)
		}
	}
}

// P10: a stream that is on its way to the token shows nothing.
func TestIsSilentPrefix(t *testing.T) {
	for _, whole := range []string{"NO_REPLY", "**no_reply**", " \n`NO_REPLY`", "\"NO\\_REPLY\""} {
		for i := range len(whole) + 1 {
			if p := whole[:i]; !IsSilentPrefix(p) && !strings.HasSuffix(p, `\`) {
				t.Errorf("IsSilentPrefix(%q) = false, want true", p)
			}
		}
	}
	for _, text := range []string{"No problem", "Hello", "NOT", "**bold**", "north"} {
		if IsSilentPrefix(text) {
			t.Errorf("IsSilentPrefix(%q) = true, want false", text)
		}
	}
}

func FuzzIsSilent(f *testing.F) {
	f.Add("NO_REPLY")
	f.Add("**no\\_reply")
	f.Add("\xff_NO")
	f.Fuzz(func(t *testing.T, text string) {
		if IsSilent(text) && !IsSilentPrefix(text) {
			t.Errorf("%q is silent but no silent prefix", text)
		}
		if IsSilent(text) && !strings.Contains(strings.ToUpper(strings.ReplaceAll(text, `\_`, "_")), SilentToken) {
			t.Errorf("%q is silent without the token", text)
		}
	})
}
