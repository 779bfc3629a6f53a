// Package attack runs attacks on what holds commands: every one without a
// sandbox first, where it must succeed, then in every tier, where what came of
// it is looked at from outside. It has tests only; program is what they run.
package attack
