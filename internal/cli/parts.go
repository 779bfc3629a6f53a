package cli

// A server that root starts is three kinds of processes, so that what strangers
// send is never read with root's rights, and no principal's commands run with
// another's:
//
//	keeper  root; starts the others, and reads nothing but numbers from the front
//	front   the user of http: user; TLS, who calls, limits (Host), and forwards
//	worker  a principal's own user; all that is done for it
const (
	partFront  = "front"
	partWorker = "worker"
	partCheck  = "check" // a worker that only says whether it could serve
	partProbe  = "probe" // and whether its sandbox holds
)

// parts are the values of --part; a person gives none.
var parts = []string{"", partFront, partWorker, partCheck, partProbe}
