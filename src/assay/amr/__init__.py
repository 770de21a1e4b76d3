"""Abstract Meaning Representation: graphs, their files, and the names of what they are compared in."""
