-- The end of a request with one call.
return run()
