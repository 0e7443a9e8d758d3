// Answers as Logz.io does, for scripts/run and for tests of whole processes.

import FakeLogz

FakeLogzCommand(arguments: Array(CommandLine.arguments.dropFirst())).main()
