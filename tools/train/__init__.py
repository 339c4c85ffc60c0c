"""Programs that train the models that the book stores."""
