"""Work on several machines by Ray: the connection, the slots that work, the files they need, and what goes where."""
