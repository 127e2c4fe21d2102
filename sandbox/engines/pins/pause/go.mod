module klutch.local/engines/pause

go 1.26.0
