house_test(test_profile test_profile.c LIBS model)
house_test(test_model test_model.c LIBS model)
house_test(test_llc test_llc.c LIBS model)
