DROP TABLE vim_image_users;
DROP TABLE vim_images;
