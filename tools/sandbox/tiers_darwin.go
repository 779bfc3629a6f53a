package sandbox

// tiers are the tiers of this system, in the order in which they are tried.
func tiers() []tier {
	return []tier{
		{Seatbelt, openSeatbelt},
	}
}
