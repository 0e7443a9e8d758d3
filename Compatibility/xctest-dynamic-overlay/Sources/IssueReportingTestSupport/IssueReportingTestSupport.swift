// Issues needs no support to fail a test, so this module is empty. Packages only link it.
