// Has every fault befall the daemon, for scripts/torture.

import Torture

await TortureCommand(arguments: Array(CommandLine.arguments.dropFirst())).main()
