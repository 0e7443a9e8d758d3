// Applies every kind of fault to a daemon, for scripts/torture.

import Torture

await TortureCommand(arguments: Array(CommandLine.arguments.dropFirst())).main()
